/** Tests that password hash parameters that would lock all users out are rejected before they are stored. */
import databasePlugin from '@plinth/database'
import { manualClock, rejectsWith } from '@plinth/dev/testing'
import { createDatabase, startMigrated } from '@plinth/dev/testing/database'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import { defineProduct, isBusinessError } from '@plinth/kernel'
import systemConfigPlugin, { type ConfigChange, configCentre } from '@plinth/system-config'
import t from 'tap'
import { assertHashIsFast, type HashSettings } from '../src/passwords/password-hash.ts'
import { adminPassword, system } from './fixtures/product.ts'

const mebibyte = 2 ** 20
const settings: HashSettings = { memoryBytes: 19 * mebibyte, passes: 2, concurrency: 2 }

/** Represents a host on which one pass of the hash takes this time. */
function machine(passMs: number, availableMemory = 1024 * mebibyte) {
  const clock = manualClock()
  const computed: number[] = []
  const hash = async ({ passes }: HashSettings) => {
    computed.push(passes)
    await clock.advance(passes * passMs)
  }
  return { computed, parts: { clock, availableMemory: () => availableMemory, hash } }
}

t.test('a hash is timed, and is not computed if its first pass shows that it takes too long', async (t) => {
  const cases = [
    { passMs: 20, passes: 2, computed: [1, 2], rejected: false },
    { passMs: 3_000, passes: 1, computed: [1], rejected: false },
    { passMs: 1_500, passes: 2, computed: [1, 2], rejected: false },
    { passMs: 3_001, passes: 1, computed: [1], rejected: true },
    { passMs: 800, passes: 100, computed: [1], rejected: true },
  ]
  for (const { passMs, passes, computed, rejected } of cases) {
    const one = machine(passMs)
    const trial = assertHashIsFast({ ...settings, passes }, one.parts)
    const name = `${passes} x ${passMs} ms`
    if (rejected)
      await rejectsWith(
        t,
        trial,
        { code: 'PLINTH_IAM_PASSWORD_HASH', message: /one hash takes \d+ s on this host/ },
        name,
      )
    else await t.resolves(trial, name)
    t.same(one.computed, computed, name)
  }
})

t.test('hashes that need more memory than available are not computed', async (t) => {
  const small = machine(1, 64 * mebibyte)
  await rejectsWith(t, assertHashIsFast({ memoryBytes: 33 * mebibyte, passes: 1, concurrency: 2 }, small.parts), {
    code: 'PLINTH_IAM_PASSWORD_HASH',
    message: /2 concurrent hashes need 66 MiB of memory/,
  })
  t.same(small.computed, [])
})

t.test('values that are saved together, or wait for a restart, are checked together', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const plugins = [databasePlugin, httpPlugin, i18nPlugin, iamPlugin, systemConfigPlugin]
  const config = { ...db.config, 'platform.http.port': 0, 'platform.iam.password.hash.memory': '1MiB' }
  const running = await startMigrated(defineProduct({ name: 'test', plugins, config }))
  t.teardown(() => running.stop('test ended'))
  const centre = running.service(configCentre)
  const set = (name: string, value: string | number): ConfigChange => {
    return { key: `platform.iam.password.hash.${name}`, action: 'set', value }
  }
  const save = (...changes: ConfigChange[]) => centre.save(changes, { actor: system })
  const fieldsOf = (error: unknown) =>
    isBusinessError(error) ? (error.data as { errors: { field: string; rule: string }[] }).errors : error
  const hash = 'platform.iam.password.hash'
  const refused = (...names: string[]) => names.map((name) => ({ field: `${hash}.${name}`, rule: 'refused' }))
  const large = set('memory', '256MiB')
  const together = await save(large, set('passes', 30)).catch(fieldsOf)
  t.match(together, refused('memory', 'passes'))
  t.match(await save(set('passes', 30)), { version: Number }, 'with the little memory of now it is quick')
  t.match(await save(large).catch(fieldsOf), refused('memory'), 'the passes wait for a restart, and count')
  t.match(await save(set('memory', '8MiB'), set('passes', 1)).catch(fieldsOf), { version: Number })

  await running.service(accounts).createAdministrator({ username: 'admin', password: adminPassword }, system)
  const payload = { username: 'admin', password: adminPassword }
  const login = await running.service(http).inject({ method: 'POST', url: '/api/v1/auth/login', payload })
  t.equal(login.json().code, '200')
})
