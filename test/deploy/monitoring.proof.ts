/** Tests that the dashboard and the alert rules use only metrics and labels that a started product publishes. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { assertMembers, startForTest } from '@plinth/dev/testing'
import { http, metrics } from '@plinth/http'
import { parser } from '@prometheus-io/lezer-promql'
import t from 'tap'
import { parse } from 'yaml'
import product from '../../examples/quickstart/plinth.config.ts'
import { blocksRunBy } from '../fixtures/document-blocks.ts'
import { deployFile, deployFiles } from './deploy-files.ts'

const root = join(import.meta.dirname, '..', '..')
const read = (file: string) => deployFile(`deploy/monitoring/${file}`)

/** Metrics and labels that Prometheus itself adds. */
const ofPrometheus = { metrics: ['up'], labels: ['job', 'instance', 'le'] }

/** Labels of the histogram that the product writes itself, without the library prom-client. */
const requestLabels = { http_request_duration_seconds: ['method', 'route', 'code'] }

interface Use {
  readonly metric: string
  readonly labels: readonly string[]
}

/** Returns the metrics of an expression with the labels of their matchers, and the labels of its groups. */
function usesOf(expression: string) {
  const text = expression.replaceAll('$__rate_interval', '5m')
  const found: { metric: string; labels: string[] }[] = []
  const groups: string[] = []
  parser.parse(text).iterate({
    enter({ type, from, to, node }) {
      const content = text.slice(from, to)
      if (type.isError) throw new Error(`${text}: error at ${from}`)
      if (type.name === 'VectorSelector') {
        const metric = node.getChild('Identifier')
        found.push({ metric: text.slice(metric?.from, metric?.to), labels: [] })
      }
      if (type.name !== 'LabelName') return
      if (node.parent?.name === 'GroupingLabels') groups.push(content)
      else found.at(-1)?.labels.push(content)
    },
  })
  return { found, groups }
}

const alerts: { expr: string; alert: string; annotations: { runbook_url: string } }[] = parse(
  read('alerts.yaml'),
).groups.flatMap(({ rules }: { rules: unknown[] }) => rules)
const dashboard = JSON.parse(read('dashboard.json'))
const panels: { title: string; targets: { expr: string }[] }[] = dashboard.panels
const expressions = [
  ...alerts.map(({ alert, expr }) => [`alert ${alert}`, expr] as const),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [`panel ${title}`, expr] as const)),
]

t.test('each metric and label of the dashboard and the alert rules is published', async (t) => {
  const running = await startForTest(product, {
    set: {
      'platform.http.port': '0',
      'platform.database.sqlite.file': ':memory:',
      'platform.install.installed': 'true',
    },
  })
  t.teardown(() => running.stop('test ended'))
  const page = (await running.service(http).inject('/metrics')).body
  const published = new Map<string, readonly string[]>(Object.entries(requestLabels))
  for (const metric of running.service(metrics).getMetricsAsArray()) {
    if (!page.includes(`# TYPE ${metric.name} `)) continue
    const labels = Reflect.get(metric, 'labelNames') ?? published.get(metric.name) ?? []
    published.set(metric.name, [...labels, ...ofPrometheus.labels])
  }
  for (const name of ofPrometheus.metrics) published.set(name, ofPrometheus.labels)
  const labelsOf = (metric: string) =>
    published.get(metric) ?? published.get(metric.replace(/_(?:bucket|sum|count)$/, ''))
  t.ok(expressions.length >= 30)
  for (const [name, expression] of expressions) {
    const { found, groups } = usesOf(expression)
    t.ok(found.length > 0, name)
    for (const { metric, labels } of found satisfies Use[]) {
      const known = labelsOf(metric)
      t.ok(known !== undefined, `${name}: ${metric}`)
      for (const label of [...labels, ...groups]) t.ok(known?.includes(label), `${name}: ${label} of ${metric}`)
    }
  }
})

t.test('the check finds a misspelt metric, label and expression', async (t) => {
  t.same(usesOf('sum by (code) (rate(http_requests{route="x"}[5m]))'), {
    found: [{ metric: 'http_requests', labels: ['route'] }],
    groups: ['code'],
  })
  t.throws(() => usesOf('rate(http_requests['))
})

t.test('each alert has a runbook, and each runbook an alert', async (t) => {
  t.strictSame(
    alerts.map(({ annotations }) => annotations.runbook_url),
    alerts.map(({ alert }) => `runbooks.md#${alert.toLowerCase()}`),
  )
  const sections = read('runbooks.md').split(/^## /m).slice(1)
  t.strictSame(
    sections.map((text) => [text.split('\n')[0], [...text.matchAll(/^- \*\*(\w+):/gm)].map(([, word]) => word)]),
    alerts.map(({ alert }) => [alert, ['Effect', 'Find', 'Do', 'Over']]),
  )
})

t.test('the dashboard can be imported', async (t) => {
  assertMembers(t, dashboard, {
    title: 'Plinth',
    schemaVersion: Number,
    templating: { list: [{ type: 'datasource' }, {}, {}] },
  })
  t.equal(new Set(dashboard.panels.map(({ id }: { id: number }) => id)).size, panels.length)
})

const skip = spawnSync('promtool', ['--version']).status === 0 ? false : 'no promtool program'
const self = relative(root, import.meta.filename)
const commands = blocksRunBy(self).flatMap(({ text }) => text.trim().split('\n'))
t.equal(commands.length, 3)
for (const command of commands) {
  t.test(command, { skip }, async (t) => {
    const cwd = t.testdir({ deploy: { monitoring: {} } })
    for (const [path, text] of deployFiles) {
      if (path.startsWith('deploy/monitoring/')) writeFileSync(join(cwd, path), text)
    }
    const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { cwd, encoding: 'utf8' })
    t.equal(status, 0, stdout + stderr)
  })
}
