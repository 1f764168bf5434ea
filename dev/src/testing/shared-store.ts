import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonValue } from '@plinth/kernel'
import { Redis } from 'ioredis'
import { freePort, skipWithoutServer, watchProcess } from './index.ts'

const port = 6379

/** Long timeouts, because a machine that runs many tests is slow. Tests of timeouts set their own values. */
const patience = { 'platform.cache.command-timeout': '30s', 'platform.cache.connect-timeout': '30s' }

/**
 * Returns why tests that need Redis on this port must be skipped, or `false`.
 *
 * @throws the error of a running Redis that rejects the connection
 */
export const skipRedisOn = (port: number): Promise<false | string> =>
  skipWithoutServer('Redis', port, async () => {
    const redis = new Redis({ port, lazyConnect: true, retryStrategy: null })
    // Keeps the first error, because later connection errors are less exact.
    let rejection: unknown
    redis.on('error', (error) => {
      rejection ??= error
    })
    try {
      await redis.connect()
      await redis.ping()
    } catch (error) {
      throw rejection ?? error
    } finally {
      redis.disconnect()
    }
  })

/** Why tests that need Redis on its standard port must be skipped, or `false`. */
export const skipRedis: false | string = await skipRedisOn(port)

/** Returns a new key prefix on the local Redis, and a client to inspect it. `drop` removes the keys. */
export function createRedisNamespace() {
  const keyPrefix = `plinth-test-${randomBytes(6).toString('hex')}`
  const client = new Redis({ port })
  // The pattern also finds keys with the prefix in a hash tag.
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

/** Why tests that start a Redis server must be skipped, or `false`. */
export const skipWithoutRedisProgram: false | string =
  spawnSync('redis-server', ['--version']).status === 0 ? false : 'no redis-server program'

/**
 * Starts a Redis server without persistence for one test, which can freeze it, kill it and start it again empty.
 *
 * @param more further command-line arguments; `PORT` is replaced by the port of the server
 */
export async function startRedis(...more: readonly string[]) {
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
      ...more.map((argument) => (argument === 'PORT' ? `${port}` : argument)),
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
