import { assertKeyEffect, expandKeys, rejectsWith } from '@plinth/dev/testing'
import t from 'tap'

/** Creates a test object that records assertions instead of reporting them. */
function recorder() {
  const asserted: [string | undefined, boolean][] = []
  const not = (found: unknown, unwanted: unknown, message?: string) => {
    asserted.push([message, found !== unwanted])
    return found !== unwanted
  }
  return { asserted, not }
}

t.test('an effect is a difference between the default and the changed value', async (t) => {
  const run = recorder()
  const observe = ({ 'a.size': size = 1 }) => ({ size })
  t.same(await assertKeyEffect(run, 'a.size', { changed: 2, observe }), [
    { key: 'a.size', before: { size: 1 }, after: { size: 2 } },
  ])
  await assertKeyEffect(run, 'a.size', { changed: 1, observe })
  await assertKeyEffect(run, 'a.size', { compared: 3, changed: 1, observe })
  await assertKeyEffect(run, 'a.other', { changed: 2, observe })
  t.same(run.asserted, [
    ['effect of a.size', true],
    ['effect of a.size', false],
    ['effect of a.size', true],
    ['effect of a.other', false],
  ])
})

t.test('several keys are proven one by one', async (t) => {
  t.same(expandKeys('a.{b,c}.{d,e}'), ['a.b.d', 'a.b.e', 'a.c.d', 'a.c.e'])
  const run = recorder()
  await assertKeyEffect(run, 'a.{b,c}', { changed: 2, observe: (values, key) => [values, key === 'a.b'] })
  t.same(run.asserted, [
    ['effect of a.b', true],
    ['effect of a.c', true],
  ])
})

t.test('an observation that fails makes the proof fail', async (t) => {
  const observe = () => Promise.reject(new Error('not observed'))
  await rejectsWith(t, assertKeyEffect(recorder(), 'a', { changed: 1, observe }), { message: 'not observed' })
})
