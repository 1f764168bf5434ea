import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { freePort, skipWithoutServer, until } from '../index.ts'
import { everyDialect } from './test-database.ts'

export interface StartedServer {
  readonly port: number
  /** Ends the process and removes its files. */
  drop(): Promise<void>
}

/** These servers refuse to run as root, so they use the user of their Debian package. */
type ServerUser = 'postgres' | 'mysql'

interface Account {
  readonly uid: number
  readonly gid: number
}

/** Returns the account that must run the server; `undefined` if the current user can run it. */
function accountOf(user: ServerUser): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  const read = (option: string) => Number(spawnSync('id', [option, user], { encoding: 'utf8' }).stdout)
  return { uid: read('-u'), gid: read('-g') }
}

function serverDirectory(name: string, account: Account | undefined): string {
  const directory = mkdtempSync(join(tmpdir(), `plinth-${name}-`))
  if (account !== undefined) chownSync(directory, account.uid, account.gid)
  chmodSync(directory, 0o700)
  return directory
}

const spawnOptions = (cwd: string, account: Account | undefined) => {
  // `TMPDIR` of the test may belong to another user.
  const env = { ...process.env, TMPDIR: cwd }
  return { cwd, env, stdio: ['ignore', 'ignore', 'pipe'], ...account } satisfies SpawnOptions
}

interface ServerProcess {
  readonly program: string
  readonly words: readonly string[]
  readonly directory: string
  readonly account: Account | undefined
  readonly port: number
}

/** Starts a server and waits until it accepts connections. */
async function run({ program, words, directory, account, port }: ServerProcess): Promise<StartedServer> {
  const child: ChildProcess = spawn(program, words, spawnOptions(directory, account))
  let output = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-4_000)
  })
  const ended = once(child, 'exit')
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const drop = async () => {
    if (!hasEnded()) {
      child.kill('SIGKILL')
      await ended
    }
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    await until(
      async () => {
        if (hasEnded()) throw new Error(`${program} ended:\n${output}`)
        return (await skipWithoutServer(program, port)) === false
      },
      `${program} listens on port ${port}`,
      20,
    )
  } catch (error) {
    await drop()
    throw error
  }
  return { port, drop }
}

/** Returns the path of a program. `/usr/sbin` is searched too, because it is not in the `PATH` of every user. */
const findProgram = (name: string): string | undefined =>
  [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
    .map((directory) => join(directory, name))
    .find((file) => existsSync(file))

const pgbouncer = findProgram('pgbouncer')

/** Reason to skip tests that start their own pgbouncer; `false` if they can run. */
export const skipPgbouncer: false | string =
  pgbouncer === undefined
    ? 'no pgbouncer program'
    : (everyDialect.find(({ dialect }) => dialect === 'postgresql')?.skip ?? false)

export interface PgbouncerOptions {
  /** Port of the PostgreSQL server, which runs on 127.0.0.1. */
  readonly serverPort?: number
  readonly poolMode?: 'session' | 'transaction'
  /** Number of connections to the server for each database. */
  readonly poolSize?: number
}

/** Starts a pgbouncer in front of the local PostgreSQL server, for all databases. */
export async function startPgbouncer(options: PgbouncerOptions = {}): Promise<StartedServer> {
  const { serverPort = 5432, poolMode = 'transaction', poolSize = 8 } = options
  if (pgbouncer === undefined) throw new Error('no pgbouncer program')
  const account = accountOf('postgres')
  const directory = serverDirectory('pgbouncer', account)
  const port = await freePort()
  const settings = join(directory, 'pgbouncer.ini')
  const users = join(directory, 'users.txt')
  const lines = [
    '[databases]',
    `* = host=127.0.0.1 port=${serverPort}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${users}`,
    `pool_mode = ${poolMode}`,
    `default_pool_size = ${poolSize}`,
    'max_client_conn = 1000',
  ]
  for (const [file, text] of [
    [settings, lines.join('\n')],
    [users, '"postgres" ""'],
  ] as const) {
    writeFileSync(file, `${text}\n`, { mode: 0o644 })
  }
  return run({ program: pgbouncer, words: ['--quiet', settings], directory, account, port })
}

/** Returns the directory of the newest installed PostgreSQL. */
function postgresPrograms(): string | undefined {
  const root = '/usr/lib/postgresql'
  try {
    const versions = readdirSync(root).sort((a, b) => Number(b) - Number(a))
    return versions[0] === undefined ? undefined : join(root, versions[0], 'bin')
  } catch {
    return undefined
  }
}

const programs = postgresPrograms()

/** Reason to skip tests that start their own PostgreSQL server; `false` if they can run. */
export const skipWithoutPostgresPrograms: false | string =
  programs === undefined ? 'no postgresql programs below /usr/lib/postgresql' : false

/**
 * Starts a PostgreSQL server with the given settings. The user `postgres` has no password.
 *
 * @param settings names and values as in `postgresql.conf`
 */
export async function startPostgres(settings: Readonly<Record<string, string | number>> = {}): Promise<StartedServer> {
  if (programs === undefined) throw new Error(String(skipWithoutPostgresPrograms))
  const account = accountOf('postgres')
  const directory = serverDirectory('postgresql', account)
  const data = join(directory, 'data')
  const words = ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale', 'C']
  const made = spawnSync(join(programs, 'initdb'), words, {
    ...spawnOptions(directory, account),
    encoding: 'utf8',
    timeout: 300_000,
  })
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`)
  const port = await freePort()
  const all = { listen_addresses: '127.0.0.1', port, unix_socket_directories: '', fsync: 'off', ...settings }
  const options = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  return run({ program: join(programs, 'postgres'), words: ['-D', data, ...options], directory, account, port })
}

const [mariadbd, installMariadb] = [findProgram('mariadbd'), findProgram('mariadb-install-db')]

/** Reason to skip tests that start their own MariaDB server; `false` if they can run. */
export const skipWithoutMariadbPrograms: false | string =
  mariadbd === undefined || installMariadb === undefined ? 'no mariadbd program' : false

/**
 * Starts a server with the empty database `plinth`. The user `root` has no password.
 *
 * @param settings names and values as on the command line
 */
export async function startMariadb(settings: Readonly<Record<string, string | number>> = {}): Promise<StartedServer> {
  if (mariadbd === undefined || installMariadb === undefined) throw new Error(String(skipWithoutMariadbPrograms))
  const account = accountOf('mysql')
  const directory = serverDirectory('mariadb', account)
  const data = `--datadir=${join(directory, 'data')}`
  const words = ['--no-defaults', data, '--auth-root-authentication-method=normal', '--skip-test-db']
  const made = spawnSync(installMariadb, words, {
    ...spawnOptions(directory, account),
    encoding: 'utf8',
    timeout: 300_000,
  })
  if (made.status !== 0) throw new Error(`mariadb-install-db failed: ${made.stderr}`)
  const port = await freePort()
  const initFile = join(directory, 'init.sql')
  writeFileSync(initFile, 'create database if not exists plinth;\n', { mode: 0o644 })
  const all = {
    'init-file': initFile,
    port,
    'bind-address': '127.0.0.1',
    socket: join(directory, 'mariadb.sock'),
    'innodb-flush-log-at-trx-commit': 0,
    'innodb-flush-method': 'nosync',
    ...settings,
  }
  const options = Object.entries(all).map(([name, value]) => `--${name}=${value}`)
  return run({ program: mariadbd, words: ['--no-defaults', data, ...options], directory, account, port })
}
