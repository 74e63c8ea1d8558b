// The source file that CMake needs beside a precompiled header.
