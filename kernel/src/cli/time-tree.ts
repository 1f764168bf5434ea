import type { TimelineEntry } from '../contracts/kernel.ts'

/** How long each phase took, and each plugin in it, as a tree for people. Durations are in milliseconds. */
export function timeTree(timeline: readonly TimelineEntry[]): string {
  const lines = [...Map.groupBy(timeline, ({ phase }) => phase)].flatMap(([phase, entries]) => {
    const took = entries.map(({ startedAtMs, durationMs }) => startedAtMs + durationMs)
    const total = Math.max(...took) - Math.min(...entries.map(({ startedAtMs }) => startedAtMs))
    const branches = entries.map(({ plugin, durationMs, outcome }, index) => {
      const branch = index === entries.length - 1 ? '└──' : '├──'
      return `${branch} ${plugin} ${Math.round(durationMs)} ms${outcome === 'failed' ? ', failed' : ''}`
    })
    return [`${phase} ${Math.round(total)} ms`, ...branches]
  })
  return lines.join('\n')
}
