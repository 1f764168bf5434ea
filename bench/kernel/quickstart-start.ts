import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { javascriptFile, root } from './javascript-copy.ts'
import type { Section } from './report.ts'
import { timeStart } from './start-time.ts'
import { rotated, spread } from './statistics.ts'

const sourceName = 'quickstart, TypeScript source'
const javascriptName = 'quickstart, JavaScript'
const address = /https?:\/\/[^\s"]+:\d+/

/** Measures `plinth start` of the quickstart until it listens: with an empty database, and with a migrated one. */
export async function measureQuickstart(rounds: number): Promise<Section> {
  const { bin } = JSON.parse(readFileSync(join(root, 'kernel/package.json'), 'utf8')) as { bin: { plinth: string } }
  const program = join('kernel', bin.plinth)
  const product = 'examples/quickstart/plinth.config.ts'
  const commands = {
    [sourceName]: [join(root, program), 'start', '--product', join(root, product)],
    [javascriptName]: [javascriptFile(program), 'start', '--product', javascriptFile(product)],
  }
  const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'))
  const noSettings = join(folder, 'empty.env')
  writeFileSync(noSettings, '')
  const memory: Record<string, number[]> = { [sourceName]: [], [javascriptName]: [] }
  const start = async (name: string, command: readonly string[]) => {
    const settings = [`platform.database.sqlite.file=${join(folder, name)}.sqlite`, 'platform.http.port=0']
    const set = settings.flatMap((setting) => ['--set', setting])
    const { milliseconds } = await timeStart(
      [...command, ...set, '--settings-file', noSettings],
      (line) => address.test(line),
      async (line) => {
        const text = await (await fetch(`${address.exec(line)?.[0]}/metrics`)).text()
        memory[name]?.push(Number(/^process_resident_memory_bytes (\d+)/m.exec(text)?.[1]) / 1e6)
      },
    )
    return milliseconds
  }
  try {
    const first: Record<string, number> = {}
    const again: Record<string, number[]> = { [sourceName]: [], [javascriptName]: [] }
    for (const [name, command] of Object.entries(commands)) first[name] = await start(name, command)
    for (let round = 0; round < rounds; round++) {
      for (const [name, command] of rotated(Object.entries(commands), round)) {
        again[name]?.push(await start(name, command))
      }
    }
    const rows = Object.entries(again).map(([name, times]) => {
      const { median, min, max } = spread(times)
      const text = `${median.toFixed(0)} (${min.toFixed(0)}..${max.toFixed(0)})`
      return [name, text, (first[name] ?? Number.NaN).toFixed(0), spread(memory[name] ?? []).median.toFixed(0)]
    })
    return {
      title: 'Start of the quickstart product',
      tables: [[['spawn to listening', 'migrations done, ms', 'empty database, ms', 'RSS, MB'], ...rows]],
      notes: [
        `${rounds} interleaved rounds of \`plinth start\` with its supervisor on SQLite; the start with an empty database ` +
          'is one sample, without a compile cache for the JavaScript copy',
        'RSS is that of the product just after it listens; the supervisor has about 11 MB of its own beside it',
      ],
      bars: Object.entries(again).map(([name, times]) => ({
        name: `start of the ${name}, migrations done`,
        measured: spread(times),
        bar: { atMost: 1500 },
        unit: 'ms',
      })),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
