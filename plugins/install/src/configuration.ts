import { readFile } from 'node:fs/promises'
import { basename, isAbsolute, join } from 'node:path'
import type { Database, ProbeTarget } from '@plinth/database'
import type { Passwords } from '@plinth/iam'
import {
  type ConfigAdmin,
  isPlinthError,
  type JsonValue,
  type Kernel,
  maskedValue,
  validateValue,
} from '@plinth/kernel'
import type { RedisProbe, RedisTarget } from '@plinth/shared-store'
import type { ConfigCentre } from '@plinth/system-config'
import type { Check, InstallForm, PlanEntry } from './contract.ts'
import { EnvFileError, envFileKeys, writeEnvFile } from './env-file.ts'
import { exampleNames } from './example-file.ts'
import type { InstallFiles } from './files.ts'
import { type Running, textOf } from './form.ts'
import { checkForm, checkOf, type Finding, hasPassed, passwordFaults } from './form-checks.ts'
import { changedConnections, type PlannedSetting, planSettings, settingsOf } from './settings.ts'
import type { InstallState } from './state.ts'
import type { Params, Say } from './texts.ts'
import { toldReason } from './told-reason.ts'

export interface ConfigurationParts {
  readonly kernel: Kernel
  readonly configAdmin: ConfigAdmin
  readonly database: Database
  /** Absent in a product that cannot use Redis. */
  readonly redis: RedisProbe | undefined
  readonly configCentre: ConfigCentre
  readonly passwords: Passwords
  readonly files: InstallFiles
  readonly running: Running
  readonly allowLite: () => boolean
  readonly state: Pick<InstallState, 'leaveDatabase'>
  readonly say: Say
}

export interface ConfigurationPlan {
  readonly checks: readonly Check[]
  readonly passed: boolean
  /** Empty when a check failed. */
  readonly settings: readonly PlannedSetting[]
  /** Names that may be written to the file. */
  readonly allowed: ReadonlySet<string>
  /** The product must start again before the rest can be done. */
  readonly restartRequired: boolean
}

/** A step that cannot go on, in words for whoever installs. `text` names the message. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure'
  readonly text: string
  readonly params: Params
  /** Field of the form that is to be corrected, for example `database.host`; empty for none. */
  readonly field: string

  constructor(text: string, params: Params = {}, cause?: unknown, field = '') {
    super(text, cause === undefined ? {} : { cause })
    this.text = text
    this.params = params
    this.field = field
  }
}

/** Checks, plans and writes the configuration that a form asks for. */
export class Configuration {
  readonly #parts: ConfigurationParts

  constructor(parts: ConfigurationParts) {
    this.#parts = parts
  }

  /** What a password of the administrator must have, in words. */
  passwordRules(locale: string): string {
    const { passwords, say } = this.#parts
    const rules = passwordFaults(passwords.check(''), locale, say)
    return rules === '' ? '' : say(locale, 'password.needed', { rules })
  }

  /** The meaning of the form alone. */
  check(form: InstallForm, locale: string): readonly Check[] {
    return checkForm(form, locale, this.#parts)
  }

  /** What writing would do. Reads the example file, writes nothing. */
  async plan(form: InstallForm, locale: string): Promise<ConfigurationPlan> {
    const { configAdmin, files, running, say } = this.#parts
    const checks = this.check(form, locale)
    const allowed = (await exampleNames(files.exampleFile)) ?? new Set<string>()
    if (!hasPassed(checks)) return { checks, passed: false, settings: [], allowed, restartRequired: false }
    const settings = planSettings(settingsOf(form, running), configAdmin, running, allowed)
    const findings = settings.flatMap((setting) => {
      const finding = faultOf(setting, locale)
      return finding === undefined ? [] : [checkOf(setting.field, finding, locale, say)]
    })
    const all = [...checks, ...findings]
    const passed = hasPassed(all)
    return {
      checks: all,
      passed,
      settings: passed ? settings : [],
      allowed,
      restartRequired: passed && changedConnections(settings).size > 0,
    }
  }

  /** The plan as people see it, with secrets behind the mask. */
  entries(form: InstallForm, { passed, settings }: ConfigurationPlan, locale: string): PlanEntry[] {
    if (!passed) return []
    const { say } = this.#parts
    const planned = settings.map(({ key, value, target, entry, isChanged, overriddenBy }): PlanEntry => {
      const sensitive = entry?.sensitive ?? key.endsWith('.password')
      const text =
        entry === undefined ? 'undeclared' : target === 'runtime' ? 'not-listed' : isChanged ? 'changed' : 'unchanged'
      return {
        propertyKey: key,
        environmentKey: target === '.env' ? (entry?.env ?? '') : '',
        maskedValue: sensitive ? maskedValue : String(value),
        sensitive,
        target,
        note: say(locale, `note.${overriddenBy === undefined ? text : 'overridden'}`, { place: overriddenBy ?? '' }),
      }
    })
    const administrator = ['username', 'email', 'mobile', 'password'].flatMap((name): PlanEntry[] => {
      const value = textOf(form, `administrator.${name}`)
      if (value === '') return []
      const sensitive = name === 'password'
      return [
        {
          propertyKey: `administrator.${name}`,
          environmentKey: '',
          maskedValue: sensitive ? maskedValue : value,
          sensitive,
          target: 'runtime',
          note: say(locale, 'note.administrator'),
        },
      ]
    })
    return [...planned, ...administrator]
  }

  /**
   * Connects to what the form asks for, where that is not what the product runs on.
   *
   * @returns the settings with what the server has told of itself
   * @throws StepFailure
   */
  async probe({ settings }: ConfigurationPlan): Promise<readonly PlannedSetting[]> {
    const changed = changedConnections(settings)
    if (changed.has('cache')) await this.#probeCache(settings)
    return changed.has('database') ? this.#probeDatabase(settings) : settings
  }

  async #probeCache(settings: readonly PlannedSetting[]): Promise<void> {
    const target = redisTarget(settings)
    if (target === undefined) return
    try {
      await this.#parts.redis?.time(target)
    } catch (error) {
      throw probeFailure(cacheProblems, error, `${target.host}:${target.port}`)
    }
  }

  async #probeDatabase(settings: readonly PlannedSetting[]): Promise<readonly PlannedSetting[]> {
    const target = probeTarget(settings, this.#parts)
    try {
      const { product } = await this.#parts.database.probe(target)
      const isMariaDb = product === 'MariaDB'
      return settings.map((setting) =>
        isMariaDb && setting.key === 'platform.database.type' ? { ...setting, value: 'mariadb' } : setting,
      )
    } catch (error) {
      throw probeFailure(
        databaseProblems,
        error,
        'host' in target ? `${target.host}:${target.port}/${target.name}` : '',
      )
    }
  }

  /**
   * Writes the file: all of it or nothing. What runs already is written only where the file says something else.
   *
   * @returns the variables that have changed
   * @throws StepFailure
   */
  async writeFile(settings: readonly PlannedSetting[], allowed: ReadonlySet<string>): Promise<readonly string[]> {
    const { configFile } = this.#parts.files
    try {
      const present = new Set(envFileKeys(await readFile(configFile, 'utf8').catch(emptyWhenMissing)))
      const changes = settings.flatMap(({ target, entry, value, isChanged }) => {
        const isWritten = target === '.env' && entry !== undefined && (isChanged || present.has(entry.env))
        return isWritten ? [[entry.env, String(value)] as const] : []
      })
      if (changes.length === 0) return []
      const { changed, added } = await writeEnvFile(configFile, Object.fromEntries(changes), { allowed })
      if (changedConnections(settings).has('database')) await this.#parts.state.leaveDatabase()
      return [...changed, ...added]
    } catch (error) {
      if (error instanceof EnvFileError) throw new StepFailure(`failure.${error.code}`, error.params, error)
      const reason = (error as NodeJS.ErrnoException).code
      if (reason === undefined) throw error
      throw new StepFailure('failure.env-not-writable', { file: basename(configFile), reason }, error)
    }
  }

  /**
   * Stores what belongs into the database configuration.
   *
   * @throws StepFailure
   */
  async store(
    settings: readonly PlannedSetting[],
    by: { readonly name: string; readonly traceId: string },
  ): Promise<void> {
    const { configCentre } = this.#parts
    const changes = settings.flatMap(({ target, key, value }) =>
      target === 'config' ? [{ key, action: 'set', value } as const] : [],
    )
    if (changes.length === 0) return
    try {
      await configCentre.save(changes, { actor: by, reason: 'install' })
    } catch (error) {
      throw new StepFailure('failure.store', { reason: toldReason(error) }, error)
    }
  }
}

/** What a tried connection met: the message below `failure.`, and the field to look at. */
interface ProbeProblem {
  readonly text: string
  readonly field: string
}
type ProbeProblems = Readonly<Record<string, ProbeProblem>> & { readonly other: ProbeProblem }

const databaseProblems: ProbeProblems = {
  PLINTH_DATABASE_UNREACHABLE: { text: 'database-unreachable', field: 'database.host' },
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

function probeFailure(problems: ProbeProblems, error: unknown, place: string): StepFailure {
  const { text, field } = (isPlinthError(error) ? problems[error.code] : undefined) ?? problems.other
  return new StepFailure(`failure.${text}`, { place, reason: toldReason(error) }, error, field)
}

/** What speaks against a single setting once the form itself is sound. */
function faultOf(
  { entry, value, isChanged, target, connection, overriddenBy }: PlannedSetting,
  locale: string,
): Finding | undefined {
  if (!isChanged || entry === undefined) return undefined
  if (overriddenBy !== undefined) return { status: 'failed', text: 'overridden', params: { place: overriddenBy } }
  if (connection !== undefined && target === 'runtime') {
    return { status: 'failed', text: 'not-listed', params: { name: entry.env } }
  }
  const [fault] = validateValue({ ...entry, sensitive: entry.sensitive }, value as JsonValue, locale)
  return fault === undefined ? undefined : { status: 'failed', text: 'key-rule', params: { rule: fault.message } }
}

/** `undefined` when the form wants no Redis. */
function redisTarget(settings: readonly PlannedSetting[]): RedisTarget | undefined {
  const value = (name: string) => settings.find(({ key }) => key === `platform.cache.${name}`)?.value
  if (value('enabled') !== true) return undefined
  return {
    host: String(value('host')),
    port: Number(value('port')),
    database: Number(value('database')),
    password: String(value('password')),
  }
}

function probeTarget(settings: readonly PlannedSetting[], { running, kernel }: ConfigurationParts): ProbeTarget {
  const value = (key: string) => settings.find((setting) => setting.key === `platform.database.${key}`)?.value
  const type = value('type') as ProbeTarget['type']
  if (type === 'sqlite') {
    const file = String(value('sqlite.file'))
    return { type, file: file === ':memory:' || isAbsolute(file) ? file : join(kernel.product.root, file) }
  }
  const tls = running('platform.database.tls') as 'off' | 'encrypt' | 'verify'
  return {
    type,
    host: String(value('host')),
    port: Number(value('port')),
    name: String(value('name')),
    username: String(value('username')),
    password: String(value('password')),
    tls,
  }
}

function emptyWhenMissing(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return ''
  throw error
}
