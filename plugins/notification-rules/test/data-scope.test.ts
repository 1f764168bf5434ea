/** Tests that operators only reach rules whose recipients are in their data scope, also those of the escalation. */
import { onSqlite } from '@plinth/dev/testing/database'
import { accounts } from '@plinth/iam'
import t from 'tap'
import { exportRules, startRules } from './fixtures/rules-product.ts'

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }

onSqlite(
  t,
  'a rule that alerts or escalates beyond the data scope of an operator is hidden from him',
  async (t, at) => {
    const started = await startRules(t, at)
    const { running, rules, raw, operator } = started
    const permissions = ['view', 'update', 'delete'].map((verb) => `notification:rule:${verb}`)
    await operator({ username: 'clerk', orgId: 7 }, ...permissions)
    const member = async (username: string, orgId: number) =>
      (await running.service(accounts).create({ username, orgId }, origin)).id
    const [near, far] = [await member('near', 7), await member('far', 8)]
    const rule = async (name: string, recipient: number, escalationRecipient: number) => {
      const escalation = { enabled: true, after: 60, channels: ['mail'], recipientUserIds: [escalationRecipient] }
      const body = { code: `test.${name}`, recipientUserIds: [recipient], escalation }
      return (await rules('POST', '', body)).data.id as number
    }
    const visible = await rule('visible', near, near)
    const hidden = [await rule('escalates-beyond', near, far), await rule('alerts-beyond', far, near)]

    const codesOf = (items: readonly { readonly code: string }[]) => items.map(({ code }) => code)
    const { data: list } = await rules('GET', '', undefined, 'clerk')
    const { data: summary } = await rules('GET', '/ops-summary', undefined, 'clerk')
    const task = await exportRules(t, started, undefined, 'clerk')
    const csv = (await raw('GET', `/api/v1/async-tasks/${task}/artifact`, undefined, 'clerk')).body
    t.same([codesOf(list.items), list.total, summary.total], [['test.visible'], 1, 1])
    t.same(csv.match(/test\.[\w-]+/g), ['test.visible'])

    const acts = [
      ['GET', ''],
      ['PUT', '', { thresholdCount: 9 }],
      ['POST', '/disable'],
      ['POST', '/enable'],
      ['DELETE', ''],
    ] as const
    for (const id of hidden) {
      const results: unknown[] = []
      for (const [method, rest, body] of acts) {
        const { code, data } = await rules(method, `/${id}${rest}`, body, 'clerk')
        results.push([code, data.reason])
      }
      t.same(
        results,
        acts.map(() => ['404', 'notification-rules.unknown']),
      )
    }
    t.equal((await rules('DELETE', '', { ids: [...hidden, visible] }, 'clerk')).data.affected, 1)
    const { data: left } = await rules('GET', '?sort=code')
    t.same(
      left.items.map(({ code, version }: { code: string; version: number }) => [code, version]),
      [
        ['test.alerts-beyond', 1],
        ['test.escalates-beyond', 1],
      ],
    )
  },
)

onSqlite(
  t,
  'N-086 an alert only reaches recipients in the data scope of the user who saved the rule',
  async (t, at) => {
    const { running, rules, operator, raise, mail, settled, lines, call } = await startRules(t, at)
    const people = running.service(accounts)
    const clerk = await operator({ username: 'clerk', orgId: 7 }, 'notification:rule:create')
    const member = async (username: string) => (await people.create({ username, orgId: 7 }, origin)).id
    const [stays, leaves] = [await member('stays'), await member('leaves')]
    const body = { code: 'test.alert', channels: ['mail'], recipientUserIds: [stays, leaves] }
    t.hasStrict(await rules('POST', '', body, 'clerk'), { code: '200' })
    const change = (id: number, body: object) => call('PUT', `/api/v1/admin/iam/users/${id}`, body)
    t.hasStrict(await change(leaves, { orgId: 8 }), { code: '200' })
    const reached = async (dedupeKey: string) => {
      mail.sent.length = 0
      await raise({ code: 'test.alert', dedupeKey })
      await settled()
      return mail.sent.flatMap(({ message }) => message.recipients)
    }
    const only = [{ kind: 'user', userId: stays }]
    t.same(await reached('a'), only)
    const skipped = lines.filter((line) => Array.isArray(line['skipped'])).map((line) => line['skipped'])
    t.same(skipped, [[leaves]], 'and the log lists the others')
    t.hasStrict(await change(clerk, { enabled: false }), { code: '200' })
    t.same(await reached('b'), only, 'the scope at the save applies when the user is gone')
  },
)
