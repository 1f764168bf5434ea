/** Generates the page about figures of one to four instances, from `bench/scale/figures.json`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { median } from '../bench/kernel/statistics.ts'
import {
  type DatabaseFigures,
  type Figures,
  isDisturbed,
  type Measurement,
  maxForeignShare,
  validOf,
  type Work,
  works,
} from '../bench/scale/figures.ts'
import { maxTestError, type Prediction } from '../bench/scale/model.ts'
import { type PageLocale, page, section, table } from './plugin-pages.ts'

const root = join(import.meta.dirname, '..')
const file = join(root, 'bench', 'scale', 'figures.json')
const databaseNames = { sqlite: 'SQLite', postgresql: 'PostgreSQL', mariadb: 'MariaDB' } as const

/** Returns the figures of the last run. */
export const readFigures = (): Figures => JSON.parse(readFileSync(file, 'utf8'))

const words = {
  en: {
    title: 'Figures of one to four instances',
    about: ({ date, node, processor, cores, loadAtStart, runs, seconds }: Figures) =>
      `This page is generated from \`bench/scale/figures.json\`. To measure again, run \`node bench/scale/run.ts --write-docs\`.

It shows what one to four instances of the quickstart do with the databases below, and what to expect from more instances. The figures were
measured on ${date} with Node.js ${node} on one machine with ${cores} cores (${processor}), at a load of ${loadAtStart.toFixed(1)}.

**Use the figures only for comparisons.** The instances, the database server, Redis and the callers shared the ${cores} cores of this machine. The
column *Cores used* shows how busy all cores of the machine were. Near 100 %, the machine was the limit, so more instances could not do more work. With a
host for each instance and a host for the database, the rates are higher. ${
        runs === 1
          ? `Each figure is one run of ${seconds} seconds.`
          : `Each figure is the median of ${runs} runs of ${seconds} seconds, with the\nlowest and the highest run.`
      }`,
    work: {
      outbox: 'Events delivered from the outbox. The handler writes a row in the transaction of the delivery.',
      send: 'Notification sends through the channel `memory`, with their rows in the send log.',
      posting: 'Postings of the ledger to 1,000 accounts.',
      hot: 'Postings of the ledger that all change the same account.',
      http: 'HTTP requests of a signed-in administrator that read one user.',
    },
    name: {
      outbox: 'outbox deliveries',
      send: 'sends',
      posting: 'postings',
      hot: 'postings to one account',
      http: 'HTTP reads',
    },
    measured: 'What is measured',
    workHead: ['Work', 'Meaning'],
    databaseTitle: ({ dialect, hasRedis }: DatabaseFigures) =>
      hasRedis ? `${databaseNames[dialect]} and Redis` : `${databaseNames[dialect]} without Redis`,
    head: [
      'Work',
      'Instances',
      'Per second',
      'Compared with one',
      'Milliseconds each',
      'CPU ms of the instances',
      'CPU ms of the database',
      'Cores used',
      'Limited by',
    ],
    settings: (settings: string) => `Settings: ${settings}.`,
    limits: {
      foreign: 'other programs of the machine',
      cpu: 'CPU of the machine',
      event: 'CPU of one process',
      row: 'lock of one row',
      commit: 'commits of the database',
    },
    within: 'in the instance',
    disturbed: (count: number, all: number) =>
      `**Other programs used more than ${maxForeignShare * 100} % of the cores in ${count} of ${all} measurements.** Those figures are too low.`,
    excluded: (count: number) =>
      `Excluded measurements: ${count}. In each repetition, calls failed, sends did not wait for their rows, or the rules of Little's law or of the number of cores were violated.`,
    more: 'What to expect from more instances',
    moreAbout: `The Universal Scalability Law is fitted to one, two and four instances, and tested on three. *Contention* is the share of the work that
cannot run at the same time, and *coordination* the cost for each pair of instances. No rate is given beyond the number of instances with the largest
rate, or beyond 16. No rate is given at all if a parameter is negative, or if the rate of three instances differs from the law by more
than ${maxTestError * 100} %. The rates are those of more instances on **this** machine. They include the effect that all instances share its cores.`,
    moreHead: ['Database', 'Work', 'Contention', 'Coordination', 'Error with three', 'Expected'],
    negative: 'no rate: the figures contain too much noise',
    test: 'no rate: the test on three instances failed',
    peak: (n: number) => (n === 1 ? 'no more than with one instance' : `no more than with ${n} instances`),
    instances: (n: number, rate: string) => `${n} instances: ${rate}/s`,
    wait: 'How long requests wait',
    waitAbout: `One instance got HTTP reads at random times, at a share of its largest rate. The model is an M/G/1 queue: an instance runs JavaScript on one
core. Half of the requests took at most *p50*, and 95 % at most *p95*.`,
    waitHead: [
      'Database',
      'Load',
      'Requests/s',
      'p50 measured',
      'p50 of the model',
      'p95 measured',
      'p95 of the model',
    ],
    ms: (value: number) => `${value.toFixed(1)} ms`,
    steps: 'When to take the next step',
    stepsAbout: `Plan with at most 60 % of a rate. Above 80 %, waits grow quickly.`,
    stepsHead: ['From', 'To', 'When'],
    stepRows: (figure: (dialect: 'sqlite' | 'postgresql', work: Work) => string) => [
      [
        'SQLite',
        'PostgreSQL or MariaDB',
        `the product must run on more than one host, or the host needs more than one core for the product. One process on SQLite delivered ${figure('sqlite', 'outbox')} events and posted ${figure('sqlite', 'posting')} times per second; on PostgreSQL, one process delivered ${figure('postgresql', 'outbox')} and posted ${figure('postgresql', 'posting')} times. See [move-database.md](move-database.md)`,
      ],
      [
        'a server',
        'a server and Redis',
        'there is a second instance: limits are then counted together, pushes reach the connections of all instances at once, and queues need no polling',
      ],
      [
        'one instance',
        'two instances',
        'the product must survive a failed host or a deployment without an interruption, or one process uses more than 60 % of one core',
      ],
      [
        'two instances',
        'more',
        'all processes use more than 60 % of one core each, and the database server still has free cores',
      ],
      [
        'more instances',
        'a larger database server',
        'the database server uses more than 60 % of its cores, or commits wait for its disk. More instances do not help then',
      ],
      [
        'one hot account',
        'several accounts',
        'postings wait for the lock of one row. No number of instances changes this: divide the account, or post in batches (`batch` of the ledger)',
      ],
    ],
  },
  'zh-CN': {
    title: '一到四个实例的数字',
    about: ({ date, node, processor, cores, loadAtStart, runs, seconds }: Figures) =>
      `本页根据 \`bench/scale/figures.json\` 生成。要重新测量，请运行 \`node bench/scale/run.ts --write-docs\`。

本页说明快速入门产品的一到四个实例在以下数据库上的处理能力，以及更多实例的预期。测量日期为 ${date}，Node.js ${node}，一台 ${cores} 核的机器（${processor}），开始时负载为 ${loadAtStart.toFixed(1)}。

**这些数字仅供比较。** 实例、数据库服务器、Redis 和调用方共用这台机器的 ${cores} 个核心。“核心使用率”一列是它们合计占用的份额。接近 100% 时，瓶颈是机器本身，更多实例也无法处理更多。如果每个实例和数据库各有一台主机，速率会更高。${runs === 1 ? `每个数字是一次 ${seconds} 秒的运行。` : `每个数字是 ${runs} 次运行的中位数，每次 ${seconds} 秒，括号内为最低和最高的一次。`}`,
    work: {
      outbox: '从发件箱投递的事件。处理程序在投递的事务中写入一行。',
      send: '通过通道 `memory` 发送的通知，包括发送日志中的行。',
      posting: '账本对 1,000 个账户的记账。',
      hot: '账本的记账，全部更改同一个账户。',
      http: '已登录管理员读取一个用户的 HTTP 请求。',
    },
    name: { outbox: '事件投递', send: '发送', posting: '记账', hot: '对同一账户记账', http: 'HTTP 读取' },
    measured: '测量内容',
    workHead: ['工作', '含义'],
    databaseTitle: ({ dialect, hasRedis }: DatabaseFigures) =>
      hasRedis ? `${databaseNames[dialect]} 和 Redis` : `${databaseNames[dialect]}，没有 Redis`,
    head: [
      '工作',
      '实例数',
      '每秒',
      '与一个实例相比',
      '每次毫秒数',
      '实例的 CPU 毫秒',
      '数据库的 CPU 毫秒',
      '核心使用率',
      '瓶颈',
    ],
    settings: (settings: string) => `设置：${settings}。`,
    limits: {
      foreign: '机器上的其他程序',
      cpu: '机器的 CPU',
      event: '一个进程的 CPU',
      row: '一行的锁',
      commit: '数据库的提交',
    },
    within: '在实例中',
    disturbed: (count: number, all: number) =>
      `**${all} 次测量中有 ${count} 次，其他程序占用了超过 ${maxForeignShare * 100}% 的核心。** 这些数字偏低。`,
    excluded: (count: number) =>
      `已排除的测量：${count} 次。每次重复都有调用失败、发送没有等待其行写入，或违反 Little 定律或核心数的规则。`,
    more: '更多实例的预期',
    moreAbout: `通用可扩展性定律（Universal Scalability Law）用一、二、四个实例拟合，用三个实例检验。“争用”是不能同时进行的工作所占的份额，“协调”是每两个实例之间的开销。超过速率最大的实例数或超过 16 个实例时，不给出速率。如果某个参数为负，或三个实例的速率与定律相差超过 ${maxTestError * 100}%，则完全不给出速率。这些速率针对**这台**机器上的更多实例，包含所有实例共用核心的影响。`,
    moreHead: ['数据库', '工作', '争用', '协调', '三个实例的误差', '预期'],
    negative: '不给出速率：数字的噪声太大',
    test: '不给出速率：三个实例的检验未通过',
    peak: (n: number) => `不超过 ${n} 个实例的速率`,
    instances: (n: number, rate: string) => `${n} 个实例：每秒 ${rate}`,
    wait: '请求等待多久',
    waitAbout: `一个实例在随机时刻收到 HTTP 读取请求，速率为其最大速率的一部分。模型是 M/G/1 队列：一个实例只在一个核心上运行 JavaScript。一半的请求不超过 *p50*，95% 的请求不超过 *p95*。`,
    waitHead: ['数据库', '负载', '每秒请求数', 'p50 测量值', 'p50 模型值', 'p95 测量值', 'p95 模型值'],
    ms: (value: number) => `${value.toFixed(1)} 毫秒`,
    steps: '何时采取下一步',
    stepsAbout: '请按不超过速率的 60% 规划。超过 80% 时，等待迅速增加。',
    stepsHead: ['从', '到', '何时'],
    stepRows: (figure: (dialect: 'sqlite' | 'postgresql', work: Work) => string) => [
      [
        'SQLite',
        'PostgreSQL 或 MariaDB',
        `产品必须在多台主机上运行，或产品需要多个核心。SQLite 上的一个进程每秒投递 ${figure('sqlite', 'outbox')} 个事件、记账 ${figure('sqlite', 'posting')} 笔；PostgreSQL 上的一个进程投递 ${figure('postgresql', 'outbox')} 个、记账 ${figure('postgresql', 'posting')} 笔。参见 [move-database.md](move-database.md)`,
      ],
      ['服务器数据库', '服务器数据库和 Redis', '有第二个实例：限流合并计数，推送立即到达所有实例的连接，队列无需轮询'],
      ['一个实例', '两个实例', '主机故障或部署时产品不得中断，或一个进程占用超过一个核心的 60%'],
      ['两个实例', '更多实例', '所有进程各占用超过一个核心的 60%，而数据库服务器还有空闲核心'],
      ['更多实例', '更大的数据库服务器', '数据库服务器占用其核心的 60% 以上，或提交等待其磁盘。此时更多实例没有帮助'],
      [
        '一个热点账户',
        '多个账户',
        '记账等待一行的锁。任何数量的实例都无法改变：请拆分账户，或批量记账（账本的 `batch`）',
      ],
    ],
  },
} as const

type Words = (typeof words)[PageLocale]

const rounded = (rate: number) => Math.round(rate).toLocaleString('en-US')
const medianOf = (list: readonly Measurement[], value: (one: Measurement) => number) => median(list.map(value))

/** Share of all cores from which the machine is the limit, and share of one core from which one process is. */
const busyShare = 0.85

/** Returns what limited the rate. The first rule that matches applies. */
function limitOf(work: Work, valid: readonly Measurement[]): keyof Words['limits'] {
  const usedShare = medianOf(valid, (one) => one.usedShare)
  const machineShare = medianOf(valid, (one) => one.machineShare)
  if (machineShare >= busyShare) return machineShare - usedShare > maxForeignShare ? 'foreign' : 'cpu'
  const perProcess = medianOf(valid, (one) => (one.perSecond * one.productMs) / 1_000 / one.instances)
  if (perProcess >= busyShare) return 'event'
  return work === 'hot' ? 'row' : 'commit'
}

function rowsOf(figures: DatabaseFigures, text: Words): string[][] {
  return works.flatMap((work) => {
    const [alone] = [validOf(figures, work, 1)]
    return [1, 2, 3, 4].flatMap((n) => {
      const valid = validOf(figures, work, n)
      if (valid.length === 0) return []
      const rates = valid.map(({ perSecond }) => perSecond)
      const limits = `${rounded(Math.min(...rates))}..${rounded(Math.max(...rates))}`
      const range = rates.length === 1 ? rounded(median(rates)) : `${rounded(median(rates))} (${limits})`
      const compared =
        alone.length === 0 ? '' : (median(rates) / median(alone.map(({ perSecond }) => perSecond))).toFixed(2)
      const databaseMs =
        figures.dialect === 'sqlite' ? text.within : medianOf(valid, (one) => one.databaseMs).toFixed(2)
      return [
        [
          text.name[work],
          String(n),
          range,
          compared,
          medianOf(valid, (one) => one.meanMs).toFixed(1),
          medianOf(valid, (one) => one.productMs).toFixed(2),
          databaseMs,
          `${Math.round(medianOf(valid, (one) => one.usedShare) * 100)} %`,
          text.limits[limitOf(work, valid)],
        ],
      ]
    })
  })
}

function expectation(prediction: Prediction, text: Words): string {
  if (!prediction.accepted) return text[prediction.reason]
  const beyond = Object.entries(prediction.beyond)
  if (beyond.length === 0) return text.peak(prediction.upTo)
  return beyond.map(([n, rate]) => text.instances(Number(n), rounded(rate))).join('; ')
}

/** Returns the page with these figures. */
export function figuresPage(figures: Figures, locale: PageLocale): string {
  const text: Words = words[locale]
  const rateOf = (dialect: string, work: Work) => {
    const found = figures.databases.find((one) => one.dialect === dialect)
    const valid = found === undefined ? [] : validOf(found, work, 1)
    return valid.length === 0 ? '-' : rounded(medianOf(valid, (one) => one.perSecond))
  }
  const predictions = figures.databases.flatMap(({ dialect, predictions }) =>
    works.flatMap((work) => {
      const prediction = predictions[work]
      if (prediction === undefined) return []
      const { s, k } = prediction.parameters
      const error = `${(prediction.testError * 100).toFixed(1)} %`
      return [
        [databaseNames[dialect], text.name[work], s.toFixed(3), k.toFixed(4), error, expectation(prediction, text)],
      ]
    }),
  )
  const waits = figures.databases.flatMap(({ dialect, queue }) =>
    queue.map(({ load, perSecond, measured, predicted }) => [
      databaseNames[dialect],
      `${load * 100} %`,
      rounded(perSecond),
      text.ms(measured.p50),
      text.ms(predicted.p50),
      text.ms(measured.p95),
      text.ms(predicted.p95),
    ]),
  )
  return page(text.title, text.about(figures), [
    section(
      text.measured,
      text.workHead,
      works.map((work) => [text.name[work], text.work[work]]),
    ),
    ...figures.databases.map((one) => {
      const disturbed = one.measurements.filter(isDisturbed).length
      const excluded = one.measurements.filter(({ rejected }) => rejected !== null).length
      return [
        ...section(text.databaseTitle(one), text.head, rowsOf(one, text)),
        text.settings(one.settings),
        '',
        ...(disturbed === 0 ? [] : [text.disturbed(disturbed, one.measurements.length), '']),
        ...(excluded === 0 ? [] : [text.excluded(excluded), '']),
      ]
    }),
    [`## ${text.more}`, '', text.moreAbout, '', ...table(text.moreHead, predictions)],
    [`## ${text.wait}`, '', text.waitAbout, '', ...table(text.waitHead, waits)],
    [`## ${text.steps}`, '', text.stepsAbout, '', ...table(text.stepsHead, text.stepRows(rateOf))],
  ])
}

/** Returns the pages with these figures, by path. */
export const figuresPages = (figures: Figures): Readonly<Record<string, string>> => ({
  'docs/operations/figures.md': figuresPage(figures, 'en'),
  'docs/zh-CN/operations/figures.md': figuresPage(figures, 'zh-CN'),
})

/** Writes the pages with these figures. */
export function writeFiguresPages(figures: Figures): void {
  for (const [path, text] of Object.entries(figuresPages(figures))) writeFileSync(join(root, path), text)
}
