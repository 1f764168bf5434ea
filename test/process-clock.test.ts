/**
 * Checks that plugins with a database use the clock of the database. A plugin may use the clock of the process only for
 * a reason that is listed here, because the wall clock of a host may be wrong.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')

/** Files that may use the clock of the process, each with the purpose. */
const allowed: Readonly<Record<string, string>> = {
  'plugins/backup/src/create.ts': 'times of backups, which are compared only with one another',
  'plugins/backup/src/plugin.ts': 'ages of backups',
  'plugins/console/src/admin/plugin.ts': 'charts and pages of this process',
  'plugins/console/src/plugin.ts': 'duration of a build',
  'plugins/database/src/plugin.ts': 'the clock of the host, which is compared with the database',
  'plugins/http/src/plugin.ts': 'durations; headers of answers',
  'plugins/iam/src/verification/plugin.ts': 'shown times; the shared store ends codes',
  'plugins/iam/src/plugin.ts': 'measures how long a password hash takes on this machine',
  'plugins/idempotency/src/plugin.ts': 'waits of this process; the shared store ends entries',
  'plugins/install/src/preflight/preflight-run.ts': 'environment checks of the host',
  'plugins/install/src/plugin.ts': 'environment checks of the host',
  'plugins/mail/src/plugin.ts': 'names of files; deadlines',
  'plugins/notification-channels/src/mail/index.ts': 'deadlines',
  'plugins/notification-channels/src/sms.ts': 'deadlines',
  'plugins/notification-channels/src/webhook/plugin.ts': 'signatures for other services; deadlines',
  'plugins/notification-channels/src/websocket/plugin.ts': 'connections of this process',
  'plugins/notification/src/plugin.ts': 'products without a database',
  'plugins/opentelemetry/src/plugin.ts': 'deadline of the stop',
  'plugins/outgoing-http/src/plugin.ts': 'deadlines',
  'plugins/rate-limit-stores/src/local-token-bucket.ts': 'limits in memory',
  'plugins/rate-limit-stores/src/memory.ts': 'limits in memory',
  'plugins/rate-limit/src/plugin.ts': 'deadlines; shown times',
  'plugins/scheduler/src/plugin.ts': 'the clock of the host, which operators see',
  'plugins/shared-store/src/plugin.ts': 'deadline of the health check',
  'plugins/sms/src/plugin.ts': 'signatures for other services; deadlines',
  'plugins/storage-s3/src/plugin.ts': 'signatures for other services; deadlines',
  'plugins/storage/src/copy-command.ts': 'drafts of this host',
  'plugins/storage/src/plugin.ts': 'drafts of this host; products without a database',
}

const destructures = /\{[^{}]*\bclock\b[^{}]*\}\s*=\s*(?:ctx|context)\b/

/**
 * True if the source reads `clock` from the runtime of a plugin or a task. A purge may read it, because its context
 * contains the clock of the database.
 */
const takesProcessClock = (source: string) => {
  const [, setup = ''] = /\bsetup\s*\(\{((?:[^{}]|\{[^{}]*\})*)\}\)/.exec(source) ?? []
  const [, run = ''] = /\brun\s*\(\{((?:[^{}]|\{[^{}]*\})*)\}/.exec(source) ?? []
  return (
    /\bclock\b/.test(setup) ||
    /\bclock\b/.test(run) ||
    /\b(?:ctx|context)\.clock\b/.test(source) ||
    destructures.test(source)
  )
}

t.test('only listed files take the clock of the process', async (t) => {
  const files = globSync(['plugins/*/src/**/*.ts', 'examples/*/*.ts'], { cwd: root })
    .filter((file) => !file.endsWith('.test.ts') && !file.includes('node_modules') && !file.includes('/testing/'))
    .filter((file) => !file.startsWith('plugins/coordination/'))
  const found = files.filter((file) => takesProcessClock(readFileSync(join(root, file), 'utf8')))
  t.same(found.filter((file) => !(file in allowed)).sort(), [])
  t.same(
    Object.keys(allowed).filter((file) => !found.includes(file)),
    [],
    'the list has no entry without use',
  )
})
