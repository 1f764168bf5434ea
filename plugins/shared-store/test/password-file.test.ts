import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertMembers, manualClock } from '@plinth/dev/testing'
import { pino } from 'pino'
import t from 'tap'
import { followPasswordFile, readPassword } from '../src/password-file.ts'

t.test('a password file is followed, and a password that Redis rejects is never used', async (t) => {
  const path = join(t.testdir(), 'password')
  writeFileSync(path, 'first word\r\n')
  t.equal(readPassword({ path }), 'first word', 'only the line break at the end is ignored')
  const clock = manualClock()
  const accepted = new Set<string>()
  const verified: string[] = []
  const adopted: string[] = []
  const lines: Record<string, unknown>[] = []
  const stop = new AbortController()
  const followed = followPasswordFile(
    {
      path,
      password: 'first word',
      async verify(password) {
        verified.push(password)
        if (!accepted.has(password)) throw new Error('WRONGPASS')
      },
      adopt: (password) => adopted.push(password),
      clock,
      log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    },
    stop.signal,
  )
  await clock.advance(20_000)
  t.same(verified, [], 'nothing happens while the file stays the same')
  writeFileSync(path, 'second word')
  await clock.advance(10_000)
  t.same({ verified, adopted }, { verified: ['second word', 'second word'], adopted: [] }, 'it is tried again')
  accepted.add('second word')
  await clock.advance(5000)
  t.same(adopted, ['second word'])
  rmSync(path)
  await clock.advance(5000)
  writeFileSync(path, '\n')
  await clock.advance(5000)
  t.same(adopted, ['second word'], 'without a password in the file, the current one stays in use')
  writeFileSync(path, 'second word')
  await clock.advance(5000)
  stop.abort()
  await clock.advance(5000)
  await followed
  assertMembers(
    t,
    lines.map(({ msg }) => msg),
    [
      'the Redis password in password cannot be used; the current password stays in use',
      'connections to Redis use the new password in password',
      'the Redis password in password can be used again',
      'the Redis password in password cannot be used; the current password stays in use',
      'the Redis password in password can be used again',
    ],
  )
  t.notMatch(JSON.stringify(lines), /first word|second word/, 'no password is logged')
})
