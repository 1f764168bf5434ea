import { basename, isAbsolute, join } from 'node:path'
import type { ProbeTarget } from '@plinth/database'
import type { Passwords } from '@plinth/iam'
import { type ConfigAdmin, type JsonValue, type Kernel, maskedValue, validateValue } from '@plinth/kernel'
import type { RedisTarget } from '@plinth/shared-store'
import type { ConfigCentre } from '@plinth/system-config'
import type { Caller } from './caller.ts'
import type { ConnectionProbes } from './connection-probes.ts'
import type { ConnectionTrial } from './connection-trial.ts'
import type { Check, InstallForm, PlanEntry } from './contract.ts'
import { EnvFileError, envFileKeys, readEnvFile, writeEnvFile } from './env-file.ts'
import { exampleNames } from './example-file.ts'
import type { InstallFiles } from './files.ts'
import { type Running, textOf } from './form.ts'
import { checkForm, checkOf, type Finding, hasPassed, passwordFaults } from './form-checks.ts'
import { changedConnections, type PlannedSetting, planSettings, settingsOf } from './settings.ts'
import type { InstallState } from './state.ts'
import { StepFailure } from './step-failure.ts'
import type { Say } from './texts.ts'
import { toldReason } from './told-reason.ts'

export interface ConfigurationParts {
  readonly kernel: Kernel
  readonly configAdmin: ConfigAdmin
  readonly probes: ConnectionProbes
  readonly configCentre: ConfigCentre
  readonly passwords: Passwords
  readonly files: InstallFiles
  readonly running: Running
  readonly allowLite: () => boolean
  readonly trial: ConnectionTrial
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
   * @throws StepFailure; BusinessError "429", reason `install.probe-busy`, when too many are being tried
   */
  async probe({ settings }: ConfigurationPlan, caller: Pick<Caller, 'isProven'>): Promise<readonly PlannedSetting[]> {
    const { probes } = this.#parts
    const changed = changedConnections(settings)
    const cache = redisTarget(settings)
    if (changed.has('cache') && cache !== undefined) await probes.cache(cache, caller)
    if (!changed.has('database')) return settings
    const { product } = await probes.database(probeTarget(settings, this.#parts), caller)
    const isMariaDb = product === 'MariaDB'
    return settings.map((setting) =>
      isMariaDb && setting.key === 'platform.database.type' ? { ...setting, value: 'mariadb' } : setting,
    )
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
      const present = new Set(envFileKeys(await readEnvFile(configFile)))
      const changes = settings.flatMap(({ target, entry, value, isChanged }) => {
        const isWritten = target === '.env' && entry !== undefined && (isChanged || present.has(entry.env))
        return isWritten ? [[entry.env, String(value)] as const] : []
      })
      if (changes.length === 0) return []
      const connections = changedConnections(settings)
      if (connections.size > 0) await this.#parts.trial.begin(configFile, settings)
      const { changed, added } = await writeEnvFile(configFile, Object.fromEntries(changes), { allowed })
      if (connections.has('database')) await this.#parts.state.leaveDatabase()
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
