import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import type { Readable } from 'node:stream'
import type { ServerSettings } from '@plinth/database/stored-data'
import { errorReason } from '@plinth/kernel'
import { backupError } from './errors.ts'

/** Time in milliseconds in which a program must print its version. */
const versionMs = 10_000
/** Maximum characters of the error output that are kept. */
const maxErrorText = 2_000

export interface ToolRun {
  readonly tool: string
  readonly args: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly input?: Readable
  /** Reads the standard output. Default: it is discarded. */
  readonly onOutput?: (output: Readable) => Promise<void>
}

/**
 * Runs a program and waits for its end. Secrets belong into its environment, because other users can read arguments.
 *
 * @throws PlinthError `PLINTH_BACKUP_DUMP`
 */
export async function runTool({ tool, args, environment, signal, input, onOutput }: ToolRun): Promise<void> {
  signal.throwIfAborted()
  const child = spawn(tool, args, {
    env: { ...process.env, LC_ALL: 'C', ...environment },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGKILL',
  })
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-maxErrorText)
  })
  const closed = once(child, 'close') as Promise<[number | null, string | null]>
  const work: Promise<unknown>[] = [closed]
  if (child.stdout !== null) {
    if (onOutput === undefined) child.stdout.resume()
    else work.push(onOutput(child.stdout))
  }
  if (input !== undefined && child.stdin !== null) {
    // The program may end before it has read its input. Its exit code is the error then.
    child.stdin.on('error', () => undefined)
    input.on('error', (error) => child.kill('SIGKILL') && child.emit('error', error))
    input.pipe(child.stdin)
  }
  try {
    await Promise.all(work)
    const [code, killedBy] = await closed
    if (code !== 0) throw new Error(errors.trim() || `it ended with ${code === null ? killedBy : `exit code ${code}`}`)
  } catch (error) {
    child.kill('SIGKILL')
    signal.throwIfAborted()
    throw backupError('PLINTH_BACKUP_DUMP', { tool, reason: errorReason(error) }, error)
  } finally {
    input?.destroy()
  }
}

/** Programs of a database server. */
interface ToolSet {
  readonly dump: string
  readonly load: string
  /** Finds the version of the server for which a program was made. */
  readonly version: RegExp
}

export const toolSets: Readonly<Record<'postgresql' | 'mariadb', ToolSet>> = {
  postgresql: { dump: 'pg_dump', load: 'pg_restore', version: /\(PostgreSQL\) (\d+)/ },
  mariadb: { dump: 'mariadb-dump', load: 'mariadb', version: /(\d+\.\d+)\.\d+-MariaDB/ },
}

/**
 * Finds a program that fits the server. A program that is older than the server cannot read all of its data.
 *
 * @param serverVersion for example `15.4` or `10.11.19-MariaDB`
 * @throws PlinthError `PLINTH_BACKUP_TOOL`
 */
export async function findTool(
  type: keyof typeof toolSets,
  use: 'dump' | 'load',
  serverVersion: string,
  directory: string,
): Promise<string> {
  const { [use]: name, version } = toolSets[type]
  const searched = directory === '' ? (process.env['PATH'] ?? '').split(delimiter) : [directory]
  const fail = (reason: string) =>
    backupError('PLINTH_BACKUP_TOOL', { tool: name, reason, searched: searched.join(', ') })
  for (const place of searched) {
    const tool = join(place, name)
    const isFound = await access(tool, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (!isFound) continue
    let printed = ''
    const onOutput = async (output: Readable) => {
      for await (const chunk of output.setEncoding('utf8')) printed += chunk
    }
    await runTool({ tool, args: ['--version'], signal: AbortSignal.timeout(versionMs), onOutput }).catch((error) => {
      throw fail(`${tool} does not print its version (${errorReason(error)})`)
    })
    const [, found] = version.exec(printed) ?? []
    if (found === undefined) throw fail(`${tool} is not a program of ${type}: ${printed.trim().slice(0, 200)}`)
    if (compareVersions(found, serverVersion) < 0) {
      throw fail(`${tool} has version ${found} and is older than the server, which has version ${serverVersion}`)
    }
    return tool
  }
  throw fail('it was not found')
}

/** Compares as many numbers as the first version has. */
function compareVersions(tool: string, server: string): number {
  const [mine, theirs] = [tool, server].map((text) => (text.match(/\d+/g) ?? []).map(Number)) as [number[], number[]]
  for (const [place, number] of mine.entries()) {
    const difference = number - (theirs[place] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** Returns the arguments and the environment with which a program connects. */
export function connectionOf(
  { type, host, port, username, password, tls }: ServerSettings,
  name: string,
): { readonly args: readonly string[]; readonly environment: Readonly<Record<string, string>> } {
  if (type === 'postgresql') {
    const sslMode = { off: 'disable', encrypt: 'require', verify: 'verify-full' }[tls]
    return {
      args: [`--host=${host}`, `--port=${port}`, `--username=${username}`, '--no-password', `--dbname=${name}`],
      environment: { PGPASSWORD: password, PGSSLMODE: sslMode, PGCONNECT_TIMEOUT: '30' },
    }
  }
  const ssl = { off: ['--skip-ssl'], encrypt: ['--ssl'], verify: ['--ssl', '--ssl-verify-server-cert'] }[tls]
  return {
    // The first argument keeps option files of users from changing the result.
    args: ['--no-defaults', `--host=${host}`, `--port=${port}`, '--protocol=tcp', `--user=${username}`, ...ssl, name],
    environment: { MYSQL_PWD: password },
  }
}
