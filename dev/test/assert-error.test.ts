import { isDeepStrictEqual } from 'node:util'
import { rejectsWith, throwsWith } from '@plinth/dev/testing'
import t from 'tap'

/** Returns a test object that records failures instead of reporting them. */
function quietTest() {
  const comments: unknown[] = []
  const test = {
    strictSame: (one: unknown, other: unknown) => isDeepStrictEqual(one, other),
    fail: () => false,
    comment: (comment: unknown) => comments.push(comment),
  }
  return { test, comments }
}

t.test('the members of an error are compared for equality', async (t) => {
  const error = Object.assign(new RangeError('The order is gone'), { code: '40404', reason: 'shop.order-gone' })
  for (const [expected, isExpected] of [
    [{ code: '40404', reason: 'shop.order-gone' }, true],
    [{ message: /is gone$/, name: 'RangeError' }, true],
    [RangeError, true],
    [{ code: '404' }, false],
    [{ code: '40404', reason: 'order-gone' }, false],
    [{ message: 'is gone' }, false],
    [TypeError, false],
  ] as const) {
    const { test, comments } = quietTest()
    const throws = () => {
      throw error
    }
    const label = JSON.stringify(expected) ?? String(expected)
    t.equal(throwsWith(test, throws, expected), isExpected, label)
    t.equal(await rejectsWith(test, Promise.reject(error), expected), isExpected, label)
    t.equal(await rejectsWith(test, throws, expected), isExpected, label)
    t.same(comments, isExpected ? [] : [error, error, error], 'an error that is not expected is printed whole')
  }
})

t.test('an operation that should fail but succeeds is a failure', async (t) => {
  const { test } = quietTest()
  t.equal(
    throwsWith(test, () => 1, {}),
    false,
  )
  t.equal(await rejectsWith(test, Promise.resolve(), {}), false)
})
