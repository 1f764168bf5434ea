/** Tests that an open resource is attributed to the code of a plugin, wherever the code of the kernel is. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const source = join(import.meta.dirname, '../src/process/opened-resources.ts')

t.test('an open resource has the place of its plugin, also in a bundle with another name', async (t) => {
  // A published package contains all files of the kernel in one bundle.
  const directory = t.testdir({ 'bundle.ts': readFileSync(source, 'utf8') })
  const {
    findOpenResources,
    runHook,
    startRecordingResources,
    stopRecordingResources,
  }: typeof import('../src/process/opened-resources.ts') = await import(join(directory, 'bundle.ts'))
  startRecordingResources()
  const timer = runHook({ plugin: 'acme.leak', started: new AbortController().signal }, () =>
    setInterval(() => {}, 60_000),
  )
  stopRecordingResources()
  t.teardown(() => clearInterval(timer))
  const [found] = findOpenResources()
  t.hasStrict(found, { plugin: 'acme.leak', type: 'Timeout' })
  t.match(found?.place, /resource-places\.test\.ts:\d+:\d+$/)
})
