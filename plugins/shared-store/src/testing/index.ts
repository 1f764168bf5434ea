import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonValue } from '@plinth/kernel'
import { freePort, skipWithoutServer, watchProcess } from '@plinth/kernel/testing'
import { Redis } from 'ioredis'

const port = 6379

/** A machine that runs many tests at once is slow, not broken. Tests of the deadline set their own. */
const patience = { 'platform.cache.command-timeout': '30s', 'platform.cache.connect-timeout': '30s' }

/**
 * The reason to skip tests that need a Redis on a port; `false` when they can run.
 *
 * @throws what a Redis said that is there and refuses
 */
export const skipRedisOn = (port: number): Promise<false | string> =>
  skipWithoutServer('Redis', port, async () => {
    const redis = new Redis({ port, lazyConnect: true, retryStrategy: null })
    // What it said; the connection that is closed after it would say less.
    let refusal: unknown
    redis.on('error', (error) => {
      refusal ??= error
    })
    try {
      await redis.connect()
      await redis.ping()
    } catch (error) {
      throw refusal ?? error
    } finally {
      redis.disconnect()
    }
  })

/** Reason to skip tests that need the Redis of this machine, on its standard port. */
export const skipRedis: false | string = await skipRedisOn(port)

/** A key prefix of its own on the Redis of this machine, and a client to look at it. `drop` removes the keys. */
export function redisSpace() {
  const keyPrefix = `plinth-test-${randomBytes(6).toString('hex')}`
  const client = new Redis({ port })
  // Also keys that carry the prefix as a hash tag.
  const keys = async () => {
    const found: string[] = []
    for await (const page of client.scanStream({ match: `*${keyPrefix}*`, count: 1000 })) found.push(...page)
    return found
  }
  const clear = async () => {
    const left = await keys()
    if (left.length > 0) await client.unlink(...left)
  }
  const config: Readonly<Record<string, JsonValue>> = {
    'platform.cache.enabled': true,
    'platform.cache.key-prefix': keyPrefix,
    ...patience,
  }
  return {
    keyPrefix,
    client,
    config,
    keys,
    clear,
    async drop() {
      await clear()
      client.disconnect()
    },
  }
}

/** Reason to skip tests that start a Redis server of their own. */
export const skipOwnRedis: false | string =
  spawnSync('redis-server', ['--version']).status === 0 ? false : 'no redis-server program'

/**
 * A server of the test alone, without a file, to be frozen, killed and started again empty.
 *
 * @param more words of its command line
 */
export async function ownRedis(...more: readonly string[]) {
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'plinth-redis-'))
  let child: ChildProcess
  async function start(): Promise<void> {
    const settings = [
      '--port',
      `${port}`,
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--appendonly',
      'no',
      '--dir',
      directory,
      ...more,
    ]
    child = spawn('redis-server', settings, { stdio: ['ignore', 'pipe', 'ignore'] })
    const { output, until } = watchProcess({ teardown: () => {} }, child)
    await until(() => output().includes('Ready to accept connections'), `redis-server is ready on port ${port}`)
  }
  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  await start()
  const config: Readonly<Record<string, JsonValue>> = {
    'platform.cache.enabled': true,
    'platform.cache.port': port,
    ...patience,
  }
  return {
    port,
    config,
    start,
    kill,
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
    async drop() {
      await kill()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
