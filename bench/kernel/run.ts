import { parseArgs } from 'node:util'
import { removeJavaScriptCopy, writeJavaScriptCopy } from './javascript-copy.ts'
import { measurePlanning } from './planning.ts'
import { measureQuickstart } from './quickstart-start.ts'
import { type Bar, barsText, type Section, sectionText } from './report.ts'
import { measureKernelStart } from './start-time.ts'
import { measureThroughput } from './throughput.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '5' },
  },
})
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) throw new RangeError('--rounds takes a whole number from 1')

const sections: Readonly<Record<string, () => Promise<Section>>> = {
  start: () => measureKernelStart(2 * rounds),
  planner: () => measurePlanning(2 * rounds),
  quickstart: () => measureQuickstart(2 * rounds),
  http: () => measureThroughput({ rounds, samples: 4, sampleSeconds: 0.5, warmUpSeconds: 1, connections: 64 }),
}
const chosen = (values.only ?? Object.keys(sections)).map((name) => {
  const measure = sections[name]
  if (measure === undefined) throw new RangeError(`--only takes ${Object.keys(sections).join(', ')}`)
  return [name, measure] as const
})

const bars: Bar[] = []
await writeJavaScriptCopy()
try {
  for (const [name, measure] of chosen) {
    try {
      const section = await measure()
      bars.push(...section.bars)
      console.log(`${sectionText(section)}\n`)
    } catch (error) {
      process.exitCode = 1
      console.log(`## ${name}\n\nnot measured: ${error instanceof Error ? error.message : error}\n`)
    }
  }
} finally {
  removeJavaScriptCopy()
}
console.log(`## Bars\n\n${barsText(bars)}`)
