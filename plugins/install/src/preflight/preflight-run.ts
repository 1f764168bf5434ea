import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { NodeEnvironment } from '@plinth/kernel'
import { omitUndefined } from '@plinth/kernel'
import type { Check } from '../contract.ts'
import type { Caller } from '../entry/caller.ts'
import { readExampleKeys } from '../env-file/env-file-text.ts'
import type { InstallFiles } from '../files.ts'
import type { ReadConfiguredValue } from '../form/form-values.ts'
import type { InstallServices } from '../requires.ts'
import type { Translate } from '../texts.ts'
import { runPreflight } from './index.ts'

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
  ): Promise<readonly Check[]> {
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
    }))
  }
}

/** Converts a message key to a name for `Translate`. */
const nameOf = (key: string) => key.replace(/^messages\.install\./, '')
