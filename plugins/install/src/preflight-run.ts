import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Database } from '@plinth/database'
import type { Clock, Kernel } from '@plinth/kernel'
import type { RedisProbe } from '@plinth/shared-store'
import type { Caller } from './caller.ts'
import type { Check } from './contract.ts'
import { exampleNames } from './example-file.ts'
import type { InstallFiles } from './files.ts'
import type { Running } from './form.ts'
import { runPreflight, type StorageFacts } from './preflight/index.ts'
import type { Say } from './texts.ts'

const manifest: { readonly engines: { readonly node: string } } = createRequire(import.meta.url)('../package.json')

/** Variables without which a connection could not be written. */
const neededNames = ['PLATFORM_DATABASE_TYPE', 'PLATFORM_DATABASE_HOST', 'PLATFORM_DATABASE_PASSWORD']

export interface PreflightParts {
  readonly kernel: Pick<Kernel, 'product'>
  readonly database: Database
  readonly storage: StorageFacts | undefined
  readonly files: InstallFiles
  readonly running: Running
  readonly policy: { readonly isProduction: boolean; readonly requireHttps: boolean; readonly allowLite: boolean }
  /** Absent in a product that cannot use Redis. */
  readonly redis: RedisProbe | undefined
  readonly clock: Clock
  readonly say: Say
}

/** The environment checks with what they need to know of this product. */
export class Preflight {
  readonly #parts: PreflightParts

  constructor(parts: PreflightParts) {
    this.#parts = parts
  }

  /** @param options `mayWrite: false` leaves out everything that makes a file or a table, even for a moment */
  async run(
    caller: Caller,
    options: { readonly mayWrite: boolean; readonly signal?: AbortSignal },
  ): Promise<readonly Check[]> {
    const { clock, database, files, kernel, policy, running, say, storage, redis } = this.#parts
    const usesCache = running('platform.cache.enabled') === true
    const items = await runPreflight({
      ...options,
      clock,
      nodeRange: manifest.engines.node,
      directories: {
        run: kernel.product.root,
        storage: files.storageDirectory,
        ...(storage === undefined ? {} : { public: join(files.storageDirectory, 'public') }),
        log: join(files.executionLog, '..'),
      },
      envFile: { path: files.configFile, examplePath: files.exampleFile, needed: neededNames },
      database,
      cache: {
        isEnabled: usesCache,
        ...(redis === undefined || !usesCache ? {} : { serverTime: (signal) => redis.time(undefined, signal) }),
      },
      storage,
      policy: { ...policy, isHttps: caller.isHttps },
      listener: {
        host: String(running('platform.http.host') ?? ''),
        port: Number(running('platform.http.port') ?? 0),
      },
      // Most names of an example stand in comments.
      probes: {
        exampleKeys: async (path) => {
          const names = await exampleNames(path)
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
      message: say(caller.locale, nameOf(message.key), message.params),
      fix: fix === undefined ? '' : say(caller.locale, nameOf(fix.key), fix.params),
    }))
  }
}

/** Name of a text as `Say` takes it. */
const nameOf = (key: string) => key.replace(/^messages\.install\./, '')
