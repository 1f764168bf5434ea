import { BenchChildProcess } from './child-process.ts'
import { javascriptProgram } from './javascript-copy.ts'
import type { PlanTimes } from './plan-200.ts'
import type { Section } from './report.ts'
import { median, rotated, spread } from './statistics.ts'

const kinds = { plain: 'keys of the ordinary kinds', objects: 'one plugin in ten has an object key' } as const
type Kind = keyof typeof kinds

/** Plans 200 plugins in new processes. Measures the first plan and a repeated plan. */
export async function measurePlanning(processes: number): Promise<Section> {
  const times: Record<Kind, PlanTimes[]> = { plain: [], objects: [] }
  for (let round = 0; round < processes; round++) {
    for (const kind of rotated(Object.keys(kinds) as Kind[], round)) {
      const child = new BenchChildProcess(javascriptProgram('plan-200'), [kind])
      times[kind].push(await child.next<PlanTimes>())
      await child.end()
    }
  }
  const row = (kind: Kind) => {
    const first = spread(times[kind].map((time) => time.first))
    const text = `${first.median.toFixed(1)} (${first.min.toFixed(1)}..${first.max.toFixed(1)})`
    return [kinds[kind], text, median(times[kind].map(({ warm }) => warm)).toFixed(1)]
  }
  return {
    title: 'Planner: 200 plugins',
    tables: [[['200 plugins', 'first plan, ms', 'warm plan, ms'], row('plain'), row('objects')]],
    notes: [
      `medians of ${processes} fresh processes each; making the declarations and loading the kernel are not counted`,
    ],
    bars: [
      {
        name: 'first plan of 200 plugins',
        measured: spread(times.plain.map(({ first }) => first)),
        bar: { atMost: 20 },
        unit: 'ms',
      },
    ],
  }
}
