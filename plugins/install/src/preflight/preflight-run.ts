import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type NodeEnvironment, omitUndefined, withinDeadline } from '@plinth/kernel'
import type { Caller } from '../entry/caller.ts'
import { readExampleKeys } from '../env-file/env-file-text.ts'
import type { InstallFiles } from '../files.ts'
import { type SentenceCheck, sentence } from '../form/form-checks.ts'
import type { ReadConfiguredValue } from '../form/form-values.ts'
import type { InstallServices } from '../requires.ts'
import type { Translate } from '../texts.ts'
import type { PreflightItem } from './catalogue.ts'
import type { CheckContext, PreflightContext } from './context.ts'
import { fileChecks, runtimeChecks } from './host-checks.ts'
import { realProbes } from './probes.ts'
import { cacheChecks, databaseChecks, policyChecks, storageChecks } from './service-checks.ts'

const manifest: { readonly engines: { readonly node: string } } = createRequire(import.meta.url)('../../package.json')

/** Variables that an installation writes for a connection. */
const neededNames = ['PLATFORM_DATABASE_TYPE', 'PLATFORM_DATABASE_HOST', 'PLATFORM_DATABASE_PASSWORD']

type PreflightDependencies = Pick<
  InstallServices,
  'kernel' | 'config' | 'database' | 'storage' | 'redis' | 'hostClock'
> & {
  readonly nodeEnvironment: NodeEnvironment
  readonly files: InstallFiles
  readonly running: ReadConfiguredValue
  readonly translate: Translate
}

export class Preflight {
  readonly #parts: PreflightDependencies

  constructor(parts: PreflightDependencies) {
    this.#parts = parts
  }

  /** @param options `mayWrite: false`: the checks create no files and tables, not even temporarily */
  async run(
    caller: Caller,
    options: { readonly mayWrite: boolean; readonly signal?: AbortSignal },
  ): Promise<readonly SentenceCheck[]> {
    const { hostClock, config, database, files, kernel, nodeEnvironment, running, translate, storage, redis } =
      this.#parts
    const { fallback } = kernel
    const usesCache = running('platform.cache.enabled') === true && fallback === undefined
    const items = await runPreflight({
      ...options,
      clock: hostClock,
      nodeRange: manifest.engines.node,
      directories: omitUndefined({
        run: kernel.product.root,
        storage: files.storageDirectory,
        public: storage === undefined ? undefined : join(files.storageDirectory, 'public'),
        log: join(files.executionLog, '..'),
      }),
      envFile: { path: files.configFile, examplePath: files.exampleFile, needed: neededNames },
      database,
      ...(fallback === undefined ? {} : { databaseFailure: fallback.code }),
      cache: {
        isEnabled: usesCache,
        ...(redis === undefined || !usesCache ? {} : { serverTime: (signal) => redis.time(undefined, signal) }),
      },
      storage,
      policy: {
        isProduction: nodeEnvironment.isProduction,
        requireHttps: config.get('platform.install.require-https'),
        allowLite: config.get('platform.install.allow-lite'),
        isHttps: caller.isHttps,
      },
      listener: {
        host: String(running('platform.http.host') ?? ''),
        port: Number(running('platform.http.port') ?? 0),
      },
      // Reads the names with `readExampleKeys`, because most names in an example file are commented out.
      probes: {
        exampleKeys: async (path) => {
          const names = await readExampleKeys(path)
          return names && [...names]
        },
      },
    })
    return items.map(({ code, group, status, message, fix }) => ({
      code,
      finding: message.key.split('.').at(-1) ?? status,
      group,
      field: '',
      status,
      message: translate(caller.locale, nameOf(message.key), message.params),
      fix: fix === undefined ? '' : translate(caller.locale, nameOf(fix.key), fix.params),
      [sentence]: { text: nameOf(message.key), params: message.params },
    }))
  }
}

/** Converts a message key to a name for `Translate`. */
const nameOf = (key: string) => key.replace(/^messages\.install\./, '')

/** Maximum duration of one probe in milliseconds. */
const probeDeadlineMs = 10_000

const groups = [runtimeChecks, fileChecks, databaseChecks, cacheChecks, storageChecks, policyChecks]

/**
 * Checks the requirements of an installation (document 3 of the specification, "Behaviour by endpoint", point 1). Runs
 * no migration, writes no configuration and creates no user. A failed or timed-out probe is a result and not an
 * exception.
 *
 * @throws the reason of `context.signal` if it aborts
 */
export async function runPreflight(context: PreflightContext): Promise<readonly PreflightItem[]> {
  const { clock, signal } = context
  const late = () => Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' })
  const checked: CheckContext = {
    ...context,
    probes: { ...realProbes, ...context.probes },
    within: (work) => withinDeadline(clock, probeDeadlineMs, work, late, signal),
  }
  const found = await Promise.all(groups.map((check) => check(checked)))
  signal?.throwIfAborted()
  return found.flat()
}
