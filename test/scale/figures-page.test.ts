/** Tests the page about several instances: figures, predictions that are made or rejected, and excluded measurements. */
import t from 'tap'
import { type DatabaseFigures, type Figures, type Measurement, type Work, works } from '../../bench/scale/figures.ts'
import { predict } from '../../bench/scale/model.ts'
import { figuresPage } from '../../scripts/figures-page.ts'

const measurement = (work: Work, run: number, instances: number, perSecond: number): Measurement => ({
  run,
  instances,
  work,
  perSecond,
  meanMs: 4,
  productMs: 0.5,
  databaseMs: 0.25,
  usedShare: 0.4,
  machineShare: 0.45,
  littleError: 0.01,
  rejected: null,
})

const rates = [1_000, 1_900, 2_700, 3_400] as const
const database: DatabaseFigures = {
  dialect: 'postgresql',
  hasRedis: true,
  settings: 'fsync = on',
  measurements: works.flatMap((work) =>
    rates.flatMap((rate, index) =>
      [0.9, 1, 1.1].map((part, run) => measurement(work, run + 1, index + 1, rate * part)),
    ),
  ),
  queue: [{ load: 0.3, perSecond: 300, measured: { p50: 1.5, p95: 3.5 }, predicted: { p50: 1.4, p95: 3.4 } }],
  predictions: {
    http: predict({ 1: 1_000, 2: 1_900, 3: 2_700, 4: 3_400 }),
    send: predict({ 1: 1_000, 2: 2_600, 3: 3_000, 4: 5_600 }),
    hot: predict({ 1: 1_000, 2: 1_900, 3: 1_000, 4: 3_400 }),
  },
}
const figures: Figures = {
  date: '2026-11-30',
  node: '24.21.0',
  processor: 'a processor',
  cores: 2,
  loadAtStart: 0.5,
  runs: 3,
  seconds: 4,
  databases: [database],
}

t.test('the page contains medians with their range, what limits them, and predictions', async (t) => {
  const text = figuresPage(figures, 'en')
  t.match(text, '| HTTP reads | 2 | 1,900 (1,710..2,090) | 1.90 | 4.0 | 0.50 | 0.25 | 40 % | commits of the database |')
  t.match(
    text,
    '| postings to one account | 2 | 1,900 (1,710..2,090) | 1.90 | 4.0 | 0.50 | 0.25 | 40 % | lock of one row |',
  )
  t.match(text, /\| HTTP reads \| 0\.\d{3} \| 0\.\d{4} \| 0\.\d % \| 6 instances: [\d,]+\/s; 8 instances: /)
  t.match(text, /\| sends \| .* \| no rate: the figures contain too much noise \|/)
  t.match(text, /\| postings to one account \| .* \| no rate: the test on three instances failed \|/)
  t.match(text, '| PostgreSQL | 30 % | 300 | 1.5 ms | 1.4 ms | 3.5 ms | 3.4 ms |')
  t.match(figuresPage(figures, 'zh-CN'), /6 个实例：每秒 [\d,]+/)
})

t.test('measurements that violate a rule are excluded and counted', async (t) => {
  const wrong = { ...measurement('http', 4, 2, 1_000_000), littleError: 0.5, rejected: 'little' } as const
  const text = figuresPage(
    { ...figures, databases: [{ ...database, measurements: [...database.measurements, wrong] }] },
    'en',
  )
  t.notMatch(text, '1,000,000')
  t.match(text, /^Excluded measurements: 1\./m)
})

t.test('a machine or a process that is busy is the limit', async (t) => {
  const busy = (change: Partial<Measurement>) =>
    figuresPage(
      { ...figures, databases: [{ ...database, measurements: [{ ...measurement('http', 1, 1, 1_000), ...change }] }] },
      'en',
    )
  t.match(busy({ usedShare: 0.97, machineShare: 0.98 }), '| CPU of the machine |')
  const disturbed = busy({ machineShare: 0.98 })
  t.match(disturbed, '| other programs of the machine |')
  t.match(disturbed, '20 % of the cores in 1 of 1 measurements.')
  t.match(busy({ productMs: 0.95 }), '| CPU of one process |')
})
