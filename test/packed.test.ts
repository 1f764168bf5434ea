/** Tests that a product runs on built packages. The proof `packages` packs, installs and types all packages. */
import { execFile } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { programEnvironment } from '@plinth/dev/testing'
import t from 'tap'
import { type PublicModule, publicModules } from '../scripts/api-compat.ts'
import { writePublished } from '../scripts/package-modules.ts'
import { publishedPaths } from '../scripts/published-paths.ts'

const root = join(import.meta.dirname, '..')
const used = ['@plinth/database', '@plinth/http', '@plinth/i18n', '@plinth/kernel', '@plinth/scheduler']

const main = `
import database from '@plinth/database'
import http, { http as server } from '@plinth/http'
import i18n from '@plinth/i18n'
import { defineProduct } from '@plinth/kernel'
import { startProduct } from '@plinth/kernel/host'
import scheduler from '@plinth/scheduler'
const product = defineProduct({ name: 'packed', plugins: [database, http, i18n, scheduler] })
const set = { 'platform.http.port': '0', 'platform.log.level': 'silent', 'platform.database.sqlite.file': ':memory:' }
const running = await startProduct({ ...product, root: import.meta.dirname }, { set })
const response = await fetch(running.service(server).url + '/health/ready')
await running.stop('done')
console.log(response.status)
`

t.test('C-001 a product runs on built packages without their sources', { timeout: 600_000 }, async (t) => {
  const folder = t.testdir()
  const modules = new Map(publicModules(root).map((one) => [one.name, one]))
  const names = new Set(used)
  for (const name of names) {
    const { folder: source, entries } = modules.get(name) as PublicModule
    const manifest = await readFile(join(root, source, 'package.json'), 'utf8')
    const target = join(folder, 'node_modules', name)
    await writePublished(join(root, source), entries, join(target, 'dist'))
    await writeFile(join(target, 'package.json'), publishedPaths(manifest))
    // A package that has its own version of a dependency gets it.
    const dependencies = join(root, source, 'node_modules')
    if (existsSync(dependencies)) symlinkSync(dependencies, join(target, 'node_modules'))
    const { dependencies: others = {} } = JSON.parse(manifest)
    for (const other of Object.keys(others)) if (modules.has(other)) names.add(other)
  }
  await mkdir(join(folder, 'data'))
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  await writeFile(join(folder, 'main.js'), main)
  const env = { ...programEnvironment(), NODE_OPTIONS: '' }
  const { stdout } = await promisify(execFile)(process.execPath, ['main.js'], { cwd: folder, env })
  t.equal(stdout.trim(), '200')
})
