/** The kit for pages passes correct pages and rejects each faulty one. `examples/notes` runs it on a real product. */
import { testConformanceKit } from '@plinth/dev/testing'
import t from 'tap'
import { createPageCases, faultyPages } from './faulty-pages.ts'

t.test('the page kit rejects faulty pages', async (t) => {
  const { faults, share, ...result } = await testConformanceKit(createPageCases, faultyPages)
  t.same(result, { wronglyRejected: [], missed: [], noSurvivors: [], unproven: [], vague: [] })
  t.ok(faults >= 21, `${faults} faulty pages`)
  t.ok(share >= 0.95)
})
