import { isAbsolute, join } from 'node:path'
import { type CommandInvocation, service } from '@plinth/kernel'
import { environmentName, readSecret, writeEnvValue } from '@plinth/kernel/host'
import { usualPort } from '../config.ts'
import type { ConnectionSettings } from '../connections/connection-failure.ts'
import { databaseError } from '../errors.ts'
import { cancelMove, type MoveOptions, type MoveResult, moveDatabase } from './move.ts'

export const moveOptions = [
  {
    flags: '--to <url>',
    description:
      'the empty target: postgresql://user@host:5432/name, mariadb://user@host:3306/name, mysql://..., or sqlite:path/to/file',
  },
  { flags: '--tls <mode>', description: 'transport security of the target: off (default), encrypt or verify' },
  {
    flags: '--password-stdin',
    description: 'read the password of the target from standard input; otherwise PLINTH_MOVE_PASSWORD or a prompt',
  },
  { flags: '--dry-run', description: 'check source and target; change nothing' },
  { flags: '--cancel', description: 'cancel a move that has not ended, so that the product can start again' },
  { flags: '--yes', description: 'with --cancel: return to the former database although the move has ended' },
]

/** Parts of the product that a move needs. */
export interface MoveContext extends Pick<MoveOptions, 'source' | 'changeSets' | 'processTables' | 'clock'> {
  /** Directory to which the path of an SQLite file is relative. */
  readonly root: string
}

/** Settings and change sets of the database, for commands that copy all of its data. */
export const moveContext = service<MoveContext>('database.move', { from: '@plinth/database' })

const passwordVariable = 'PLINTH_MOVE_PASSWORD'
const optionError = (reason: string) => databaseError('PLINTH_DATABASE_MOVE_OPTIONS', { reason })

/** Implements `plinth database move`. */
export async function runMoveCommand(context: MoveContext, invocation: CommandInvocation): Promise<void> {
  const { options, output, signal, examine } = invocation
  if (options['cancel'] === true) {
    const { place, state } = await cancelMove(context.source, options['yes'] === true)
    output.result(
      { cancelled: true, target: place, hadEnded: state === 'moved' },
      `The product uses its former database again. Drop the database at ${place} before you move the data there again.`,
    )
    return
  }
  const isRehearsal = options['dryRun'] === true
  const target = await readTarget(context, invocation)
  const set = settingsOf(target)
  const result = await moveDatabase({
    ...context,
    target,
    isRehearsal,
    signal,
    onProgress: output.progress,
    examine: (on) => examine(on === 'target' ? set : {}),
  })
  const lines = environmentLines(set)
  output.result({ ...result, settings: lines }, resultText(result, lines))
}

async function readTarget(context: MoveContext, { options, signal }: CommandInvocation): Promise<ConnectionSettings> {
  const { to, tls = 'off', passwordStdin } = options
  const { source, root } = context
  const { connectTimeoutMs, queryTimeoutMs, transactionTimeoutMs } = source
  const limits = { connectTimeoutMs, queryTimeoutMs, transactionTimeoutMs }
  if (typeof to !== 'string') throw optionError('the option --to is missing')
  if (to.startsWith('sqlite:')) {
    const path = to.slice('sqlite:'.length)
    if (path === '' || path.startsWith('//') || path === ':memory:')
      throw optionError('write --to as sqlite:path/to/file')
    const file = isAbsolute(path) ? path : join(root, path)
    return { type: 'sqlite', file, busyTimeoutMs: 5_000, synchronous: 'full', ...limits }
  }
  const url = URL.canParse(to) ? new URL(to) : undefined
  const type = url?.protocol.slice(0, -1)
  const name = decodeURIComponent(url?.pathname.slice(1) ?? '')
  const isServer = type === 'postgresql' || type === 'mariadb' || type === 'mysql'
  if (
    url === undefined ||
    !isServer ||
    url.hostname === '' ||
    url.username === '' ||
    name === '' ||
    url.search !== ''
  ) {
    throw optionError('write --to as postgresql://user@host:5432/name, mariadb://user@host:3306/name or sqlite:path')
  }
  if (url.password !== '') {
    throw optionError(
      `--to contains a password, which other users of the host can read. Set ${passwordVariable} instead`,
    )
  }
  if (tls !== 'off' && tls !== 'encrypt' && tls !== 'verify') throw optionError('--tls is off, encrypt or verify')
  const fromEnvironment = process.env[passwordVariable]
  const password =
    passwordStdin !== true && fromEnvironment !== undefined
      ? fromEnvironment
      : await readSecret({ fromStandardInput: passwordStdin === true, signal, error: missingPassword })
  return {
    type,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? usualPort[type] : Number(url.port),
    name,
    username: decodeURIComponent(url.username),
    password,
    tls,
    poolSize: 2,
    preparedStatements: true,
    ...limits,
  }
}

const missingPassword = (reason: string) =>
  optionError(`${reason}. Set ${passwordVariable} to the password of the target; it may be empty`)

/** Returns the configuration values with which a product uses the database. */
function settingsOf(target: ConnectionSettings): Readonly<Record<string, string>> {
  if (target.type === 'sqlite') {
    return { 'platform.database.type': 'sqlite', 'platform.database.sqlite.file': target.file }
  }
  return {
    'platform.database.type': target.type,
    'platform.database.host': target.host,
    'platform.database.port': String(target.port),
    'platform.database.name': target.name,
    'platform.database.username': target.username,
    'platform.database.password': target.password,
    'platform.database.tls': target.tls,
  }
}

/** Returns lines for the settings file. The password is left out. */
const environmentLines = (set: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(set).map(([key, value]) => {
    const text = key === 'platform.database.password' ? '<password>' : (writeEnvValue(value)?.text ?? value)
    return `${environmentName(key)}=${text}`
  })

function resultText({ moved, target, tables, rows, notCopied, earlierFailures }: MoveResult, lines: readonly string[]) {
  const failures = earlierFailures.map(({ check, detail }) => `  ${check}: ${detail}`)
  if (!moved) return [`${rows} rows can be moved to ${target}. Nothing was changed.`, ...failures].join('\n')
  return [
    `Moved ${rows} rows of ${tables.length} tables to ${target}. All rows are equal there.`,
    `Not copied, because the rows belong to running processes: ${notCopied.join(', ')}.`,
    ...(failures.length === 0 ? [] : ['These checks failed before the move and fail on the target too:', ...failures]),
    'Set these values in the settings file or the environment, then start the product:',
    ...lines.map((line) => `  ${line}`),
    'The former database rejects starts now. Keep it until you have a backup of the new one.',
  ].join('\n')
}
