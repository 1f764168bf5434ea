/** Tests that a product without traces loads no module of OpenTelemetry. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { programEnvironment } from '@plinth/dev/testing'
import t from 'tap'

t.setTimeout(120_000)

const fixture = fileURLToPath(new URL('fixtures/loaded-modules.ts', import.meta.url))
const modulesWith = async (mode: string): Promise<readonly string[]> => {
  const args = ['--disable-warning=ExperimentalWarning', fixture, mode]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: programEnvironment() })
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}

t.test('a product without the plugin, or without a collector, loads no module of OpenTelemetry', async (t) => {
  t.strictSame(await modulesWith('without'), [])
  t.strictSame(await modulesWith('empty'), [])
  const loaded = await modulesWith('http://127.0.0.1:1/v1/traces')
  t.ok(loaded.length > 10, 'with a collector, the same test finds the modules')
})
