/** Runs `bench/scale` in its small size. No figure decides: only the rules and the form of the results are checked. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitForProcessEnd } from '@plinth/dev/testing'
import { skipWithoutPostgresPrograms } from '@plinth/dev/testing/database'
import { skipWithoutRedisProgram } from '@plinth/dev/testing/shared-store'
import t from 'tap'
import { type Figures, works } from '../../bench/scale/figures.ts'
import { figuresPage } from '../../scripts/figures-page.ts'

const program = join(import.meta.dirname, '../../bench/scale/run.ts')
const skip = skipWithoutPostgresPrograms || skipWithoutRedisProgram

t.test('the benchmark measures each kind of work with one and two instances', { skip, timeout: 600_000 }, async (t) => {
  const output = join(t.testdir(), 'figures.json')
  const words = ['--small', '--in-memory', '--instances', '2', '--output', output]
  const databases = ['sqlite', 'postgresql']
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', program, ...words, ...databases.flatMap((one) => ['--database', one])],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const { code, stdout, stderr } = await waitForProcessEnd(child)
  t.equal(code, 0, stderr)
  const figures: Figures = JSON.parse(readFileSync(output, 'utf8'))
  t.strictSame(
    figures.databases.map(({ dialect, hasRedis }) => [dialect, hasRedis]),
    [
      ['sqlite', false],
      ['postgresql', true],
    ],
  )
  for (const { dialect, measurements, settings, predictions } of figures.databases) {
    const expected = dialect === 'sqlite' ? [1] : [1, 2]
    const found = measurements.map(({ instances, work }) => `${instances} ${work}`)
    t.strictSame(
      found,
      expected.flatMap((instances) => works.map((work) => `${instances} ${work}`)),
    )
    t.match(settings, / = /, 'the settings that decide about commits are recorded')
    t.strictSame(predictions, {}, 'no prediction without four instances')
    for (const { work, perSecond, productMs, usedShare } of measurements) {
      t.ok(perSecond > 0 && productMs > 0 && usedShare > 0, `${dialect}: ${work}`)
    }
  }
  const ofServer = figures.databases.find(({ dialect }) => dialect === 'postgresql')?.measurements ?? []
  if (process.platform === 'linux')
    t.ok(
      ofServer.some(({ databaseMs }) => databaseMs > 0),
      'the database uses CPU time',
    )
  for (const { queue } of figures.databases)
    for (const { predicted } of queue) t.ok(predicted.p95 >= predicted.p50 && predicted.p50 > 0)
  t.match(stdout, /^\| database +\| work/m)
  t.match(figuresPage(figures, 'en'), /## PostgreSQL and Redis/)
  t.match(figuresPage(figures, 'zh-CN'), /## PostgreSQL 和 Redis/)
})
