/** Lists: filters, search, range, sort orders, cursors, counts, and statements per page. */
import type { Database } from '@plinth/database'
import { onDatabase } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import { loads } from './fixtures/contacts.ts'
import { outcomeOf, path, startContacts } from './fixtures/product.ts'

const minuteMs = 60_000

onDatabase(t, 'a list is filtered, searched, sorted and paged', async (t: Test, db) => {
  const { root, ben, ids, clock, createContact } = await startContacts(t, db)
  const start = clock.now()
  const names = ['Dan', 'bea', 'Ada', 'Cem']
  for (const [at, name] of names.entries()) {
    const email = at % 2 === 0 ? null : `${name}@example.com`
    await createContact(at < 2 ? 'ben' : 'cleo', {
      name,
      email,
      enabled: at !== 3,
      stage: at === 0 ? 'client' : 'lead',
    })
    await clock.advance(3 * minuteMs)
  }
  const list = async (query: string): Promise<readonly string[]> => {
    const answer = await root('GET', `${path}?${query}`)
    t.equal(answer.code, '200', answer.text)
    return answer.data.items.map(({ name }: { name: string }) => name)
  }
  t.same(await list(''), ['Cem', 'Ada', 'bea', 'Dan'], 'the newest first')
  const at = (minutes: number) => encodeURIComponent(new Date(start + minutes * minuteMs).toISOString())
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['enabled=false', ['Cem']],
    ['stage=client', ['Dan']],
    [`ownerId=${ids['ben']}`, ['bea', 'Dan']],
    ['email=bea@example.com', ['bea']],
    [`ownerId=${ids['cleo']}&enabled=true`, ['Ada']],
    ['keyword=EA', ['bea']],
    ['keyword=c4', ['Cem']],
    ['keyword=%25', []],
    [`keyword=a&ownerId=${ids['cleo']}`, ['Ada']],
    [`from=${at(2)}&to=${at(7)}`, ['Ada', 'bea']],
    [`from=${at(9)}`, ['Cem']],
    [`to=${at(3)}`, ['Dan']],
    ['sort=name', ['Ada', 'Cem', 'Dan', 'bea']],
    ['sort=-name', ['bea', 'Dan', 'Cem', 'Ada']],
    ['sort=createdAt', names],
    ['sort=-created_at', ['Cem', 'Ada', 'bea', 'Dan']],
    ['sort=email&sort=name', ['Ada', 'Dan', 'Cem', 'bea']],
    ['sort=-email&sort=name', ['bea', 'Cem', 'Ada', 'Dan']],
    ['sort=name&size=2&page=2', ['Dan', 'bea']],
    ['filter=name:in:Dan,Ada', ['Ada', 'Dan']],
    ['filter=email:empty:true', ['Ada', 'Dan']],
    ['filter=email:empty:false&filter=enabled:in:true', ['bea']],
    ['filter=stage:in:client,lead&stage=client', ['Dan']],
  ]
  const isCaseBlind = (await list('sort=name'))[1] === 'bea'
  t.notOk(isCaseBlind, 'texts are compared exactly on each database')
  for (const [query, expected] of cases) t.same(await list(query), expected, query)

  const rejected = [
    'sort=hint',
    'sort=about',
    'sort=name;drop',
    'stage=nope',
    'hint=x',
    'salary=1',
    `from=${at(2)}&to=${at(1)}`,
  ]
  for (const query of rejected)
    t.equal(outcomeOf(await root('GET', `${path}?${query}`)), '400 http.invalid-input', query)
  for (const query of ['keyword=x', 'from=2030-01-01T00:00:00Z', 'contactId=1'])
    t.equal(outcomeOf(await root('GET', `/api/v1/admin/acme/calls?${query}`)), '400 http.invalid-input', query)

  await t.test('a cursor returns each row once, although rows come and go', async (t) => {
    const page = async (query: string) => (await root('GET', `${path}?sort=name&size=2${query}`)).data
    const first = await page('')
    t.match(first, { total: 4, counted: 'exact' })
    const { id } = await createContact('ben', { name: 'Aaa' })
    const second = await page(`&cursor=${first.next}`)
    t.same(
      second.items.map(({ name }: { name: string }) => name),
      ['Dan', 'bea'],
    )
    t.match(second, { total: null, counted: 'none', next: null })
    t.match(await page('&count=none'), { total: null })
    t.match(await page('&count=capped'), { total: 5, counted: 'exact' })
    t.equal((await root('GET', `${path}?cursor=${first.next}`)).code, '400', 'a cursor of another order')
    await root('DELETE', `${path}/${id}`)
  })

  await t.test('a parameter of the resource has its own condition, within the data scope', async (t) => {
    const calls = '/api/v1/admin/acme/calls'
    const contacts = { ben: await createContact('ben'), cleo: await createContact('cleo') }
    for (const minutes of [1, 5, 9])
      for (const { id: contactId } of Object.values(contacts)) await root('POST', calls, { contactId, minutes })
    const minutesOf = async (call: typeof root, query: string) =>
      (await call('GET', `${calls}?sort=minutes&${query}`)).data.items.map(
        ({ minutes }: { minutes: number }) => minutes,
      )
    t.same(await minutesOf(root, 'longerThan=1'), [5, 5, 9, 9])
    t.same(await minutesOf(ben, 'longerThan=1'), [5, 9])
    t.same(
      await minutesOf(ben, 'longerThan=1&size=1&page=2'),
      [9],
      'the condition does not receive the other parameters',
    )
    t.same(await minutesOf(ben, ''), [1, 5, 9])
    t.equal((await root('GET', `${calls}?longerThan=x`)).code, '400')
    for (const { id } of Object.values(contacts)) await root('DELETE', `${path}/${id}`)
  })

  await t.test('members that are loaded cost one call per page', async (t) => {
    loads.length = 0
    const { items } = (await root('GET', path)).data
    t.same(loads, [4])
    t.ok(
      items.every(({ neighbours, length, name }: { neighbours: number; length: number; name: string }) => {
        return neighbours === 4 && length === name.length
      }),
    )
  })
})

type Execute = (sql: string, ...rest: unknown[]) => unknown

/** Returns the texts of the statements about contacts that the entity manager executes meanwhile. */
async function statementsOf(db: Database, work: () => Promise<unknown>): Promise<readonly string[]> {
  const texts: string[] = []
  const connection: { execute: Execute } = Object(db.fork().getConnection())
  const { execute } = connection
  connection.execute = (sql, ...rest) => {
    if (sql.includes('acme_contact')) texts.push(sql)
    return execute.call(connection, sql, ...rest)
  }
  await work()
  connection.execute = execute
  return texts
}

onDatabase(t, 'a page costs the same number of statements with one row and with many', async (t: Test, db) => {
  const { root, clock, db: service, createContact } = await startContacts(t, db)
  await createContact('ben')
  const count = async (query: string) => (await statementsOf(service, () => root('GET', `${path}?${query}`))).length
  t.equal(await count('size=200'), 1)
  for (let at = 0; at < 20; at++) await createContact('ben')
  t.equal(await count('size=200'), 1)
  t.equal(await count('size=20'), 2, 'the page and the total')
  t.equal(await count('size=20&count=none'), 1)

  const from = encodeURIComponent(new Date(clock.now()).toISOString())
  const inRange = await statementsOf(service, () => root('GET', `${path}?from=${from}`))
  t.ok(
    inRange.some((text) => /\bid[`"]? >= /.test(text)),
    'the time of the creation needs no index, because the ids are restricted too',
  )
})
