/** Tests that the kit for login guards accepts a correct guard and rejects each faulty guard. */
import { testConformanceKit } from '@plinth/dev/testing'
import t from 'tap'
import { createGuardCases, faultyLoginGuards } from './fixtures/faulty-login-guards.ts'

t.test('the login guard kit rejects faulty guards', async (t) => {
  const { faults, share, ...result } = await testConformanceKit(createGuardCases, faultyLoginGuards)
  t.same(result, { wronglyRejected: [], missed: [], noSurvivors: [], unproven: [], vague: [] })
  t.ok(faults >= 15, `${faults} faulty guards`)
  t.ok(share >= 0.95)
})
