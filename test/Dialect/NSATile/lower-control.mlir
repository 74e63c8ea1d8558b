// RUN: nsacc-opt %s --allow-unregistered-dialect --nsatile-lower-control | FileCheck %s

// CHECK-LABEL: func.func @branches
// CHECK: cf.cond_br %[[FIRST:.*]], ^[[THEN:.*]], ^[[REST:.*]]
// CHECK: ^[[THEN]]:
// CHECK: "test.first"
// CHECK: cf.cond_br %[[FIRST]], ^[[INNER:.*]], ^[[BEHIND:.*]]
// CHECK: ^[[INNER]]:
// CHECK: "test.inner"
// CHECK: cf.br ^[[BEHIND]]
// CHECK: ^[[BEHIND]]:
// CHECK: "test.behind"
// CHECK: cf.br ^[[REST]]
// CHECK: ^[[REST]]:
// CHECK: %[[SUM:.*]] = "test.between"
// CHECK: cf.br ^[[HEAD:.*]](%{{.*}}, %[[SUM]] : index, f32)
// CHECK: ^[[HEAD]](%[[I:.*]]: index, %[[CARRIED:.*]]: f32):
// CHECK: cf.cond_br %{{.*}}, ^[[BODY:.*]], ^[[END:.*]]
// CHECK: ^[[BODY]]:
// CHECK: %[[NEXT:.*]] = "test.step"(%[[I]], %[[CARRIED]])
// CHECK: cf.br ^[[HEAD]](%{{.*}}, %[[NEXT]] : index, f32)
// CHECK: ^[[END]]:
// CHECK: return %[[CARRIED]]
func.func @branches(%c: i1, %lo: index, %hi: index, %one: index) -> f32 {
  scf.if %c {
    "test.first"() : () -> ()
    scf.if %c {
      "test.inner"() : () -> ()
    }
    "test.behind"() : () -> ()
  }
  %x = "test.between"() : () -> f32
  %r = scf.for %i = %lo to %hi step %one iter_args(%s = %x) -> f32 {
    %n = "test.step"(%i, %s) : (index, f32) -> f32
    scf.yield %n : f32
  }
  return %r : f32
}
