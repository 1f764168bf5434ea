/**
 * Further plugins for the test of `plinth plugin verify`: correct plugins, and plugins for errors that do not depend on
 * a certain plugin.
 */
import { type FaultyPlugin, filesOf, httpImportLine, routeOf } from './faulty-plugins.ts'

export type Files = FaultyPlugin['files']

/** Build script that replaces the compiler. It only removes the types from the sources of a created plugin. */
const build = `
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
mkdirSync('dist', { recursive: true })
cpSync('src', 'dist', { recursive: true })
for (const file of globSync('dist/**/*.ts')) {
  const text = stripTypeScriptTypes(readFileSync(file, 'utf8')).replaceAll(/(from '\\..*)\\.ts'/g, "$1.js'")
  writeFileSync(file.replace(/\\.ts$/, '.js'), text)
  rmSync(file)
}
`

export const correctPlugin = {
  build,
  small: filesOf('honest-small', {}),
} as const

interface RemainingFault {
  readonly name: string
  readonly files: Files
  /** All codes that the report must contain. */
  readonly codes: readonly string[]
  readonly limitMs?: number
}

export const remainingFaults: readonly RemainingFault[] = [
  {
    name: 'acme-no-version',
    files: filesOf('acme-no-version', {}, { version: '' }),
    codes: ['PLINTH_VERIFY_PACK_FAILED'],
  },
  {
    name: 'acme-no-default-export',
    files: filesOf('acme-no-default-export', {}, {}, { 'dist/plugin.js': 'export const plugin = {}\n' }),
    codes: ['PLINTH_VERIFY_NO_PLUGIN'],
  },
  {
    name: 'acme-rejected-host',
    files: filesOf('acme-rejected-host', {
      before: `${httpImportLine}\nimport { outgoingHttp } from '@plinth/outgoing-http'`,
      members: "requires: { http, outgoingHttp }, outgoingHosts: ['api.acme.example'],",
      setup: `
    const { outgoingHttp } = context.services
    context.onReady(() => outgoingHttp.request({ url: 'https://other.example/', body: '' }).catch(() => {}).then(() => {}))`,
    }),
    codes: ['PLINTH_VERIFY_HOST_UNDECLARED'],
  },
  {
    name: 'acme-endless-loop',
    files: filesOf('acme-endless-loop', { setup: 'for (;;);' }),
    codes: ['PLINTH_VERIFY_ENDLESS'],
    limitMs: 10_000,
  },
]

/** A plugin with several faults. They are reported together. */
export const filesWithSeveralFaults: Files = filesOf(
  'acme-several',
  {
    before: `${httpImportLine}
import { notificationChannel } from '@plinth/kernel'
const channel = {
  displayName: { en: 'ACME', 'zh-CN': 'ACME' },
  recipientKinds: [],
  traits: { idempotent: false },
  send: async () => ({ outcome: 'accepted' }),
}`,
    members: `
  requires: { http },
  contributes: [notificationChannel],
  scheduledTasks: [
    {
      name: 'acme-several.poll',
      displayName: { en: 'Poll', 'zh-CN': '轮询' },
      fixedDelay: 3_600_000,
      autoStartup: false,
      async run() {
        throw new Error('ACME does not respond')
      },
    },
  ],`,
    setup: `
    context.contribute(notificationChannel, 'acme', channel)
    ${routeOf('acme-several', "() => {\n      throw new TypeError('of undefined')\n    }")}`,
  },
  { scripts: { test: 'node --test test/plugin.test.js' } },
  {
    'test/plugin.test.js':
      "import { test } from 'node:test'\ntest('it works', () => {\n  throw new Error('it does not')\n})\n",
  },
)
