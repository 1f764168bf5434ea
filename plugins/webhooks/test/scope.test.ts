import { onDatabase, onEachDatabase } from '@plinth/dev/testing/database'
import { accounts } from '@plinth/iam'
import t from 'tap'
import { outcomeOf, startWebhooks } from './fixtures/product.ts'
import { startReceiver, status } from './fixtures/receiver.ts'

onEachDatabase(t, 'an endpoint receives only events of rows that its owner may see', async (t, at) => {
  const receiver = await startReceiver(t)
  const { root, anna, ben, cleo, ids, createEndpoint, publish, settled } = await startWebhooks(t, at, {
    hosts: [receiver.host],
  })
  for (const [name, call] of Object.entries({ root, anna, ben, cleo }))
    await createEndpoint(call, `${receiver.url}/${name}`)
  const owners = { anna: ids['anna'], ben: ids['ben'], cleo: ids['cleo'] }
  const parcels = new Map<number, string>()
  for (const [name, userId] of Object.entries(owners)) parcels.set(await publish({ userId: userId as number }), name)
  parcels.set(await publish({ orgId: 1 }), 'organisation 1')
  parcels.set(await publish(), 'the product')
  await settled((rows) => rows.length === 10 && rows.every(({ status }) => status === 'delivered'))
  const heard = (name: string) =>
    receiver.requests
      .filter(({ path }) => path === `/hooks/${name}`)
      .map(({ body }) => parcels.get(JSON.parse(body).data.parcelId) as string)
      .sort()
  t.same(heard('root'), ['anna', 'ben', 'cleo', 'organisation 1', 'the product'])
  t.same(heard('anna'), ['anna', 'ben', 'organisation 1'])
  t.same(heard('ben'), ['ben'])
  t.same(heard('cleo'), ['cleo'])
})

onDatabase(t, 'the rights are checked again at each attempt', async (t, at) => {
  const receiver = await startReceiver(t, status(500))
  const { running, root, anna, ids, createEndpoint, publish, attempted, settled, endpoint, deliveries, db, passUntil } =
    await startWebhooks(t, at, {
      hosts: [receiver.host],
    })
  const { id } = await createEndpoint(anna, receiver.url)
  await publish({ userId: ids['ben'] as number })
  await attempted()
  receiver.respond = status(200)
  await db.execute('update iam_user set org_id = 2 where id = ?', [ids['ben'] as number])
  await passUntil(6_000, ([row]) => row?.status === 'rejected')
  t.equal(receiver.requests.length, 1, 'nothing after ben left the organisation')
  await db.execute('update iam_user set org_id = 1 where id = ?', [ids['ben'] as number])
  await publish({ userId: ids['ben'] as number })
  await settled((rows) => rows[1]?.status === 'delivered')
  const user = await running.service(accounts).find(ids['anna'] as number)
  const roles = (await root('GET', '/api/v1/admin/iam/roles')).data.items
  const { id: roleId, version } = roles.find(({ code }: { code: string }) => code === 'org')
  const grants = async (permissions: readonly string[], from: number) => {
    const body = { name: 'org', dataScope: 'org', permissions, version: from }
    const changed = await root('PUT', `/api/v1/admin/iam/roles/${roleId}`, body)
    t.equal(changed.code, '200', changed.text)
    return changed.data.version
  }
  const webhooks = ['webhooks:endpoint:view', 'webhooks:endpoint:manage', 'webhooks:delivery:view']
  t.equal((await anna('GET', '/deliveries?count=exact')).data.total, 2)
  const later = await grants(webhooks, version)
  t.equal((await anna('GET', '/deliveries?count=exact')).data.total, 0, 'the log shows no parcels without it')
  await publish({ userId: ids['ben'] as number })
  t.equal((await deliveries()).length, 2, 'nothing without the permission to view parcels')
  await grants(['test:parcel:view'], later)
  receiver.respond = status(500)
  await publish({ userId: ids['ben'] as number })
  await attempted()
  const disabled = await root('PUT', `/api/v1/admin/iam/users/${user?.id}`, { enabled: false })
  t.equal(disabled.code, '200', disabled.text)
  await passUntil(6_000, (rows) => rows[2]?.status === 'held')
  t.hasStrict(await endpoint(id), { status: 'suspended', statusReason: 'no-rights' })
})

onDatabase(t, 'an endpoint of a disabled user is suspended at the next event', async (t, at) => {
  const receiver = await startReceiver(t)
  const { root, cleo, ids, createEndpoint, publish, deliveries, endpoint } = await startWebhooks(t, at, {
    hosts: [receiver.host],
  })
  const { id } = await createEndpoint(cleo, receiver.url)
  await root('PUT', `/api/v1/admin/iam/users/${ids['cleo']}`, { enabled: false })
  await publish({ userId: ids['cleo'] as number })
  t.hasStrict(await endpoint(id), { status: 'suspended', statusReason: 'no-rights' })
  t.same(await deliveries(), [])
})

onDatabase(t, 'an endpoint of an administrator tells an operator nothing more', async (t, at) => {
  const receiver = await startReceiver(t)
  const { root, anna, ids, db, createEndpoint, publish, settled, endpoint } = await startWebhooks(t, at, {
    hosts: [receiver.host],
  })
  // The administrator belongs to the organisation of anna, so that anna may change the endpoint.
  await db.execute("update iam_user set org_id = 1 where username = 'root'")
  const { id } = await createEndpoint(root, `${receiver.url}/old`)
  await publish({ userId: ids['cleo'] as number })
  await settled(([row]) => row?.status === 'delivered')
  const log = await anna('GET', '/deliveries')
  t.same(log.data.items, [], 'no delivery about a row outside the data scope')
  const [row] = await db.query<{ id: number }>('select id from webhook_delivery')
  t.equal(outcomeOf(await anna('GET', `/deliveries/${row?.id}`)), '404 webhooks.delivery-unknown')
  const { version } = await endpoint(id)
  const url = `${receiver.url}/mine`
  t.equal((await anna('PUT', `/endpoints/${id}`, { url, version })).code, '200')
  await publish({ userId: ids['cleo'] as number })
  await publish({ userId: ids['ben'] as number })
  await settled((rows) => rows.length === 2 && rows[1]?.status === 'delivered')
  t.equal(receiver.requests.filter(({ path }) => path === '/hooks/mine').length, 1, 'only the row that anna may see')
})

onDatabase(t, 'operators reach only endpoints in their data scope', async (t, at) => {
  const receiver = await startReceiver(t)
  const { anna, ben, cleo, ids, createEndpoint } = await startWebhooks(t, at, { hosts: [receiver.host] })
  const { id } = await createEndpoint(anna, receiver.url)
  for (const call of [ben, cleo]) {
    t.same((await call('GET', '/endpoints')).data.items, [])
    for (const [method, path, body] of [
      ['GET', ''],
      ['PUT', '', { name: 'x' }],
      ['POST', '/test', {}],
      ['POST', '/disable', {}],
      ['POST', '/rotate-secret', {}],
      ['POST', '/redeliver', { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }],
      ['DELETE', ''],
    ] as const) {
      t.equal(
        outcomeOf(await call(method, `/endpoints/${id}${path}`, body)),
        '404 webhooks.endpoint-unknown',
        `${method} ${path}`,
      )
    }
  }
  const content = { name: 'x', url: receiver.url, eventTypes: ['parcel.sent'], ownerId: ids['anna'] }
  t.equal(outcomeOf(await cleo('POST', '/endpoints', content)), '403 iam.out-of-scope')
  t.equal(
    outcomeOf(await anna('POST', '/endpoints', { ...content, eventTypes: ['order.paid'] })),
    '400 webhooks.event-type-unknown',
  )
  t.same(
    (await anna('GET', '/event-types')).data.map(({ type }: { type: string }) => type),
    ['parcel.sent'],
  )
})
