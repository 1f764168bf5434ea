/** Tests that `plinth doctor` finds every problem that prevents `plinth start`, and reports the same code. */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, programEnvironment, watchProcess } from '@plinth/dev/testing'
import t, { type Test } from 'tap'
import { type PlantedFault, plantedFaults, pluginFile, writeFile } from './planted-faults/faults.ts'
import { type CommandEnd, runCommandsIn, runOnNode } from './planted-faults/run-here.ts'

const productFile = `// @ts-nocheck
import consolePages from '@plinth/console'
import consoleAdmin from '@plinth/console/admin'
import database from '@plinth/database'
import http from '@plinth/http'
import i18n from '@plinth/i18n'
import iam from '@plinth/iam'
import { defineProduct } from '@plinth/kernel'
import rateLimit from '@plinth/rate-limit'
import memoryStore from '@plinth/rate-limit-stores/memory'
import scheduler from '@plinth/scheduler'
import sharedStore from '@plinth/shared-store'
import storage from '@plinth/storage'
import systemConfig from '@plinth/system-config'
import site from '@plinth/site'
import planted from './planted.ts'

const plugins = [consolePages, consoleAdmin, database, http, site, i18n, iam, rateLimit, memoryStore, scheduler, sharedStore]
export default defineProduct({
  name: 'planted',
  plugins: [...plugins, storage, systemConfig, ...planted],
  config: {
    'platform.database.sqlite.file': 'shop.sqlite',
    'platform.http.port': 0,
    'platform.log.format': 'json',
    'platform.rate-limit.default-store': 'memory',
    'platform.storage.root': 'storage',
  },
})
`

/** Creates a product that contains one problem. */
async function planted(t: Test, { plugin = { members: '' }, settings = '', plant }: Partial<PlantedFault>) {
  const directory = t.testdir({ 'plinth.config.ts': productFile, 'planted.ts': pluginFile(plugin), '.env': settings })
  await plant?.({
    directory,
    write: writeFile(directory),
    run: (...commands) => void runCommandsIn(directory, ...commands),
    afterwards: (end) => t.teardown(end),
  })
  return directory
}

t.test('doctor accepts a correct product and creates no database, and the product starts', async (t) => {
  const directory = await planted(t, {})
  const seen = (end: CommandEnd | undefined) => [end?.exitCode, end?.errors, end?.warnings, end?.isReady]
  const [first] = runCommandsIn(directory, 'doctor')
  t.strictSame(seen(first), [0, [], [], false], first?.output ?? '')
  t.notOk(existsSync(join(directory, 'shop.sqlite')))
  const [start, second] = runCommandsIn(directory, 'start', 'doctor')
  t.strictSame(seen(start), [0, [], [], true], start?.output ?? '')
  t.strictSame(seen(second), [0, [], [], false], second?.output ?? '')
})

/** Product file with the install plugin, whose health check reads the database. */
const withInstall = productFile
  .replace('import i18n', "import events from '@plinth/events'\nimport i18n")
  .replace('import { defineProduct }', "import install from '@plinth/install'\nimport { defineProduct }")
  .replace('[...plugins,', '[...plugins, events, install,')
const plantInstall: PlantedFault['plant'] = ({ directory }) =>
  writeFileSync(join(directory, 'plinth.config.ts'), withInstall)

t.test('doctor creates no file and no directory', async (t) => {
  const directory = await planted(t, {
    plant: plantInstall,
    settings: 'PLATFORM_DATABASE_SQLITE_FILE=storage/shop.sqlite',
  })
  const filesIn = () => readdirSync(directory, { recursive: true }).toSorted()
  const before = filesIn()
  const [doctor] = runCommandsIn(directory, 'doctor')
  t.equal(doctor?.exitCode, 0, doctor?.output ?? '')
  t.strictSame(filesIn(), before)
})

t.test('doctor reports in one sentence that the database does not respond, and the fix', async (t) => {
  const settings = [
    ...['TYPE=postgresql', 'HOST=127.0.0.1', 'PORT=1', 'NAME=shop', 'USERNAME=shop'].map(
      (line) => `PLATFORM_DATABASE_${line}`,
    ),
  ].join('\n')
  const directory = await planted(t, { plant: plantInstall, settings })
  const [doctor] = runCommandsIn(directory, 'doctor')
  const { output = '' } = doctor ?? {}
  t.equal(doctor?.exitCode, 1)
  t.ok(doctor?.errors.includes('PLINTH_DATABASE_UNREACHABLE'))
  const sentence = 'Cannot connect to the postgresql server at 127.0.0.1:1/shop: connect ECONNREFUSED 127.0.0.1:1.'
  t.match(output, `${sentence} Start the server, or correct platform.database.host and platform.database.port.`)
  t.notMatch(output, /"stack"/)
  t.notMatch(output, /run `plinth migrate`/, 'a migration is no remedy')
  t.strictSame(
    output.split('\n').filter((line) => line.startsWith('{') && line.length > 500),
    [],
  )
})

t.test('doctor recognises that the product itself uses the port', async (t) => {
  const port = await freePort()
  const directory = await planted(t, { settings: `PLATFORM_HTTP_PORT=${port}` })
  const program = join(import.meta.dirname, '..', 'kernel', 'bin', 'plinth.js')
  const env = { ...programEnvironment(), NODE_OPTIONS: '' }
  const running = spawn(process.execPath, [program, 'start', '--no-supervisor'], { cwd: directory, env })
  const { output, until } = watchProcess(t, running)
  await until(() => output().includes('"msg":"started"'), 'it has started')
  const [doctor] = runCommandsIn(directory, 'doctor')
  t.equal(doctor?.exitCode, 0, doctor?.output ?? '')
  const warning = `A product already serves at http://127.0.0.1:${port}. Stop it before you start another one with this port.`
  t.match(doctor?.output, warning)
})

t.test('doctor and start agree on planted faults', async (t) => {
  t.ok(plantedFaults.filter(({ isWarning }) => !isWarning).length >= 25)
  const warned = plantedFaults.filter(({ isWarning }) => isWarning).map(({ code }) => code)
  t.strictSame(warned, ['PLINTH_CONSOLE_PAGE'], 'the product starts all the same')
  for (const problem of plantedFaults) {
    const { title, code, isWarning = false, isRejected = false, nodeVersion } = problem
    await t.test(title, async (t) => {
      const directory = await planted(t, problem)
      const commands = ['doctor', 'start'] as const
      const [doctor, start] =
        nodeVersion === undefined
          ? runCommandsIn(directory, ...commands)
          : commands.map((command) => runOnNode(directory, nodeVersion, command))
      const kind = isWarning ? 'warnings' : 'errors'
      t.ok(doctor?.[kind].includes(code), `doctor reports ${code}: ${doctor?.output}`)
      t.ok(start?.[kind].includes(code), `start reports ${code}: ${start?.output}`)
      t.equal(doctor?.exitCode, isWarning ? 0 : isRejected ? 3 : 1, 'exit code of doctor')
      t.equal(start?.exitCode === 0, isWarning, 'exit code of start')
      t.equal(start?.isReady, isWarning, 'the product serves')
    })
  }
})
