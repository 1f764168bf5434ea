import { createHash } from 'node:crypto'
import type { ProbeTarget, ServerInfo } from '@plinth/database'
import { errorCodeOf, errorReason, hostAndPort, withinDeadline } from '@plinth/kernel'
import { type RevertedTrial, SettingsTrial } from '@plinth/kernel/host'
import type { RedisTarget } from '@plinth/shared-store'
import { StepFailure } from '../declarations.ts'
import type { Caller } from '../entry/caller.ts'
import type { InstallFiles } from '../files.ts'
import type { InstallServices } from '../requires.ts'
import { businessError, publicReason } from '../texts.ts'
import type { PlannedSetting } from './settings-plan.ts'

type ConnectionTrialDependencies = Pick<InstallServices, 'config'> & { readonly files: InstallFiles }

/**
 * Tries a new connection after it was written to the file (decision E8). If the product does not start with it, the
 * kernel restores the old settings.
 */
export class NewConnectionTrial {
  readonly #trial: SettingsTrial
  readonly #config: ConnectionTrialDependencies['config']

  constructor({ files, config }: ConnectionTrialDependencies) {
    this.#trial = new SettingsTrial(files.configFile)
    this.#config = config
  }

  /** Starts the trial. Must be called before the file is written. */
  begin(settings: readonly PlannedSetting[]): Promise<void> {
    return this.#trial.begin({
      patienceMs: this.#config.get('platform.install.connection-trial'),
      about: fingerprintOf(settings),
    })
  }

  /** Ends the trial, because the product has started with the new connection. */
  end(): Promise<void> {
    return this.#trial.end()
  }

  /**
   * Throws once if the product did not start with these settings and returned to the old ones.
   *
   * @throws StepFailure
   */
  async assertNotReturned(settings: readonly PlannedSetting[], { isProven }: Pick<Caller, 'isProven'>): Promise<void> {
    const failedTrial = await this.#trial.takeReturned()
    if (failedTrial?.about === fingerprintOf(settings)) throw failureOf(failedTrial, isProven)
  }
}

/** Returns the error of a failed trial. A caller without an install token gets no details about the network. */
function failureOf({ code, reason }: RevertedTrial, isProven: boolean): StepFailure {
  if (!isProven) return new StepFailure('failure.connection-returned-unproven', {}, undefined, 'database.type')
  const params = { reason: publicReason(new Error(reason)) }
  return new StepFailure('failure.connection-returned', params, undefined, fieldOfFailure(code))
}

/**
 * Returns a hash of the connection settings. The database type is left out, because MariaDB is only detected after
 * connecting.
 */
function fingerprintOf(settings: readonly PlannedSetting[]): string {
  const isMeant = ({ connection, key }: PlannedSetting) => connection !== undefined && key !== 'platform.database.type'
  const connections = settings.filter(isMeant).map(({ key, value }) => [key, value])
  return createHash('sha256').update(JSON.stringify(connections)).digest('hex')
}

/**
 * Time limit of a probe in milliseconds. It is longer than each timeout within the probe, so that the more exact error
 * is reported. A caller without a token waits this long for every failure, so that the duration reveals nothing.
 */
const deadlineMs = 10_000
/** Maximum number of concurrent probes, including probes whose caller no longer waits. */
const maxConcurrent = 4

type ConnectionProbeDependencies = Pick<InstallServices, 'database' | 'redis' | 'clock' | 'log'>

type Asking = Pick<Caller, 'isProven'>

/**
 * Tests connections that a caller has entered. Without a token, any caller who reaches the installer can start a test
 * and could scan the network with it. Such a caller only learns that the test failed, always after the same time.
 */
export class ConnectionProbes {
  readonly #parts: ConnectionProbeDependencies
  #running = 0

  constructor(parts: ConnectionProbeDependencies) {
    this.#parts = parts
  }

  /** @throws StepFailure; BusinessError "429", reason `install.probe-busy` */
  database(target: ProbeTarget, asking: Asking): Promise<ServerInfo> {
    const place = 'host' in target ? `${hostAndPort(target.host, target.port)}/${target.name}` : ''
    return this.#try(() => this.#parts.database.probe(target), databaseProblems, place, asking)
  }

  /** Connects to a Redis server. Throws the errors of `database`. */
  async cache(target: RedisTarget, asking: Asking): Promise<void> {
    const { redis } = this.#parts
    if (redis === undefined) return
    await this.#try(() => redis.time(target), cacheProblems, hostAndPort(target.host, target.port), asking)
  }

  async #try<T>(work: () => Promise<T>, problems: ProbeProblems, place: string, asking: Asking): Promise<T> {
    const { clock, log } = this.#parts
    if (this.#running >= maxConcurrent) throw businessError('probe-busy', { text: 'failure.probe-busy' })
    const begin = clock.monotonic()
    this.#running++
    const attempt = work().finally(() => {
      this.#running--
    })
    // If the probe fails after its caller has stopped waiting, the error is ignored.
    attempt.catch(() => undefined)
    try {
      return await withinDeadline(clock, deadlineMs, () => attempt, silent)
    } catch (error) {
      if (asking.isProven) throw probeFailure(problems, error, place)
      log.info({ place, reason: errorReason(error) }, 'a connection test of a caller without an install token failed')
      await clock.sleep(Math.max(0, begin + deadlineMs - clock.monotonic()))
      throw new StepFailure('failure.connection-unproven', { place }, undefined, problems.other.field)
    }
  }
}

const silent = () => Object.assign(new Error(`no response within ${deadlineMs / 1000} s`), { code: silentCode })
const silentCode = 'silent'

/** Message name below `failure.`, and the form field to correct. */
interface ProbeProblem {
  readonly text: string
  readonly field: string
}
type ProbeProblems = Readonly<Record<string, ProbeProblem>> & { readonly other: ProbeProblem }

const noServer: ProbeProblem = { text: 'database-unreachable', field: 'database.host' }
const foreign: ProbeProblem = { text: 'database-foreign', field: 'database.database' }

const databaseProblems: ProbeProblems = {
  [silentCode]: noServer,
  PLINTH_DATABASE_UNREACHABLE: noServer,
  PLINTH_DATABASE_POOL_TIMEOUT: noServer,
  PLINTH_DATABASE_QUERY_TIMEOUT: noServer,
  PLINTH_DATABASE_CONNECTION_LOST: noServer,
  PLINTH_DATABASE_TOO_MANY_CONNECTIONS: { text: 'database-full', field: 'database.host' },
  PLINTH_DATABASE_READ_ONLY: { text: 'database-read-only', field: 'database.host' },
  PLINTH_DATABASE_RIGHTS: { text: 'database-rights', field: 'database.username' },
  PLINTH_MIGRATION_FOREIGN_TABLES: foreign,
  PLINTH_MIGRATION_CHECKSUM: foreign,
  PLINTH_DATABASE_ACCESS_DENIED: { text: 'database-denied', field: 'database.password' },
  PLINTH_DATABASE_UNKNOWN: { text: 'database-unknown', field: 'database.database' },
  PLINTH_DATABASE_FILE: { text: 'database-file', field: 'database.type' },
  other: { text: 'database-unusable', field: 'database.type' },
}
const cacheProblems: ProbeProblems = {
  PLINTH_SHARED_STORE_UNAVAILABLE: { text: 'cache-unreachable', field: 'cache.host' },
  PLINTH_SHARED_STORE_REFUSED: { text: 'cache-refused', field: 'cache.password' },
  other: { text: 'cache-unreachable', field: 'cache.host' },
}

/** Returns the form field that caused an error of a database or Redis connection. */
export function fieldOfFailure(code: string): string {
  return (databaseProblems[code] ?? cacheProblems[code] ?? databaseProblems.other).field
}

function probeFailure(problems: ProbeProblems, error: unknown, place: string): StepFailure {
  const { text, field } = problems[errorCodeOf(error) ?? ''] ?? problems.other
  return new StepFailure(`failure.${text}`, { place, reason: publicReason(error) }, error, field)
}
