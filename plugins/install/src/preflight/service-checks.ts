import { isIP } from 'node:net'
import { item, type PreflightItem } from './catalogue.ts'
import type { CheckContext, StorageFacts } from './context.ts'

/** Redis, when there is a connection to it. */
export async function cacheChecks({ cache, clock, within }: CheckContext): Promise<PreflightItem[]> {
  const { isEnabled, serverTime } = cache
  if (serverTime === undefined) return [item('cache-connection', isEnabled ? 'unreachable' : 'none')]
  try {
    const begin = clock.monotonic()
    const time = await within(serverTime)
    const elapsed = Math.ceil(clock.monotonic() - begin)
    return [item('cache-connection', 'passed', { time: new Date(time).toISOString(), elapsed })]
  } catch {
    return [item('cache-connection', 'unreachable')]
  }
}

/** The storage service and its two default disks. */
export async function storageChecks(context: CheckContext): Promise<PreflightItem[]> {
  const { storage } = context
  if (storage === undefined) return [item('storage-service', 'none')]
  const disks = await Promise.all([
    diskCheck(context, storage, 'storage-public-disk', storage.publicDisk),
    diskCheck(context, storage, 'storage-local-disk', storage.localDisk),
  ])
  return [item('storage-service', 'passed', { disks: storage.disks().length }), ...disks]
}

async function diskCheck(
  { mayWrite, within }: CheckContext,
  storage: StorageFacts,
  code: 'storage-public-disk' | 'storage-local-disk',
  disk: string,
): Promise<PreflightItem> {
  const known = storage.disks().find(({ name }) => name === disk)
  if (known === undefined) return item(code, 'unknown', { disk })
  if (!known.enabled) return item(code, 'disabled', { disk })
  if (!mayWrite) return item(code, 'passed', { disk })
  return within((signal) => storage.probe(disk, signal)).then(
    () => item(code, 'passed', { disk }),
    () => item(code, 'unusable', { disk }),
  )
}

/** HTTPS policy, lite-mode policy, and where the product listens. */
export async function policyChecks({ policy, database, cache, listener }: CheckContext): Promise<PreflightItem[]> {
  const { isProduction, requireHttps, isHttps, allowLite } = policy
  const plain = requireHttps ? 'refused' : isProduction ? 'unsafe' : 'plain'
  const isLite = (database === undefined || database.dialect === 'sqlite') && !cache.isEnabled
  return [
    item('https-policy', isHttps ? 'passed' : plain),
    // A warning: the product runs lite until the form is filled in, and the form is what may be refused.
    item('lite-mode', !isLite ? 'passed' : allowLite ? 'lite' : 'refused'),
    item('listener', isLoopback(listener.host) ? 'loopback' : 'passed', { port: listener.port }),
  ]
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
