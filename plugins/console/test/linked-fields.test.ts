/** Tests fields that depend on other fields: defaults, and choices that an operation returns. */
import type { PageDeclaration, PageForm } from '@plinth/admin'
import type { Schema } from '@plinth/http'
import t from 'tap'
import type { PageViewer } from '../src/admin/column-and-field-views.ts'
import type { Operation } from '../src/admin/operations.ts'
import { findPageProblems } from '../src/admin/page-faults.ts'
import { pageView } from '../src/admin/page-views.ts'
import type { Choices, Field } from '../web/admin/api/page-types.ts'
import { changedFollowers, knownChoices, withChange, withDefaults } from '../web/admin/pages/forms/linked-fields.ts'

const text = (en: string) => ({ en, 'zh-CN': `${en} 中文` })
const object = (properties: Record<string, Schema>): Schema => ({ type: 'object', properties })
const titled = (title: string, type = 'string'): Schema => ({ type, title })
const listOf = (properties: Record<string, Schema>): Schema => ({ type: 'array', items: object(properties) })

function operation(id: string, method: string, facts: Partial<Operation> = {}): readonly [string, Operation] {
  const access = { permission: `shop:${id}`, scope: 'none' } as const
  const path = `/${id}`
  const rest = { path, access, params: {}, query: {}, takesReason: false, body: undefined, helps: new Map() }
  return [id, { id, method, data: object({}), ...rest, ...facts }]
}

const city = listOf({ id: titled('Id', 'integer'), name: titled('Name') })
const operations = new Map([
  operation('getShops', 'GET', { data: listOf({ id: titled('Id', 'integer') }) }),
  operation('postShop', 'POST', {
    body: object({
      name: titled('Name'),
      label: titled('Label'),
      country: titled('Country'),
      cityId: titled('City id', 'integer'),
      price: titled('Price', 'integer'),
    }),
  }),
  operation('getCities', 'GET', {
    data: city,
    query: { country: titled('Country'), size: { type: 'integer', maximum: 50 } },
  }),
  operation('getCitiesOf', 'GET', { data: city, params: { country: titled('Country') } }),
  operation('getCity', 'GET', { data: object({ id: titled('Id', 'integer') }) }),
  operation('postCities', 'POST', { data: city }),
])

const ofCountry = {
  operation: 'getCities',
  value: 'id',
  name: 'name',
  query: { country: { field: 'country' } },
  title: text('City'),
} as const
const form: PageForm = {
  operation: 'postShop',
  title: text('New shop'),
  fields: ['name', 'label', 'country', 'cityId', 'price'],
  defaults: { label: 'name' },
  choices: { cityId: ofCountry },
}
const pageWith = (change: Partial<PageForm>): PageDeclaration => ({
  kind: 'list',
  id: 'shop.shops',
  title: text('Shops'),
  source: 'getShops',
  key: 'id',
  columns: [{ field: 'id', as: 'count', title: text('Id') }],
  create: { ...form, ...change },
})
/** The API description sets this member. Without it, each column would be reported. */
for (const { data } of operations.values())
  for (const member of Object.values(data?.items?.properties ?? {})) Object.assign(member, { 'x-title': text('T') })

t.test('each error in the choices and defaults of a form is reported with its page and field', (t) => {
  const problemsOf = (change: Partial<PageForm>) => findPageProblems([pageWith(change)], operations, new Map())
  t.strictSame(problemsOf({}), [])
  const ofPath = { operation: 'getCitiesOf', value: 'id', params: { country: { field: 'country' } } }
  t.strictSame(problemsOf({ choices: { cityId: ofPath } }), [])
  const choices = (change: object) => ({ choices: { cityId: { ...ofCountry, ...change } } })
  const cases: readonly (readonly [Partial<PageForm>, string])[] = [
    [
      choices({ operation: 'getNothing' }),
      'the choices of "cityId": no loaded plugin provides the operation "getNothing"',
    ],
    [
      choices({ operation: 'postCities' }),
      'the choices of "cityId": postCities is not a GET operation that returns a list',
    ],
    [choices({ operation: 'getCity' }), 'the choices of "cityId": getCity is not a GET operation that returns a list'],
    [choices({ value: 'code' }), 'the choices of "cityId": "code" is not a member of an item of getCities'],
    [choices({ name: 'label' }), 'the choices of "cityId": "label" is not a member of an item of getCities'],
    [choices({ value: 'name' }), 'the choices of "cityId": "name" has another type than the field "cityId"'],
    [choices({ search: 'q' }), 'the choices of "cityId": "q" is not a parameter of getCities'],
    [choices({ query: { zone: { value: 'x' } } }), 'the choices of "cityId": "zone" is not a parameter of getCities'],
    [choices({ params: { id: { value: 1 } } }), 'the choices of "cityId": "id" is not in the path of getCities'],
    [
      choices({ query: { country: { field: 'land' } } }),
      'the choices of "cityId": "land" is neither another field nor a member of the result',
    ],
    [
      choices({ query: { country: { field: 'cityId' } } }),
      'the choices of "cityId": "cityId" is neither another field nor a member of the result',
    ],
    [
      { choices: { cityId: { operation: 'getCitiesOf', value: 'id' } } },
      'the choices of "cityId": the path parameter "country" of getCitiesOf is missing',
    ],
    [
      { options: { cityId: { labels: 'shop.city', optional: true } } },
      '"cityId" has "choices" and "options": remove one of them',
    ],
    [{ defaults: { label: 'title' } }, '"title" in "defaults" is not a field of the form'],
    [{ defaults: { label: 'price' } }, '"label" has its default from "price", which has another type'],
    [
      { defaults: { price: 'cityId' }, amounts: { price: { unit: 'EUR' } } },
      '"price" has its default from "cityId", which has another type',
    ],
    [{ defaults: { label: 'label' } }, 'the default of "label" leads back to itself'],
  ]
  for (const [change, problem] of cases) t.strictSame(problemsOf(change), [`page "shop.shops": ${problem}`], problem)
  t.end()
})

const reader = (locale: string, permitted: (id: string) => boolean): PageViewer => ({
  locale,
  can: ({ id }) => permitted(id),
  sees: () => true,
  page: () => undefined,
  created: () => undefined,
  hasLabels: () => false,
})

function fieldsOf(viewer: PageViewer): readonly Field[] {
  const view = pageView(pageWith({}) as never, operations, viewer) as unknown as { create: { fields: Field[] } }
  return view.create.fields
}

t.test('a user who may not call the operation gets no choices, but the missing permission', (t) => {
  const [, label, , allowed] = fieldsOf(reader('zh-CN', () => true))
  t.equal(label?.follows, 'name')
  t.match(allowed, {
    title: 'City 中文',
    choices: { allowed: true, method: 'GET', path: '/getCities', value: 'id', name: 'name', size: 50 },
  })
  const forbidden = fieldsOf(reader('en', (id) => id !== 'getCities')).find(({ name }) => name === 'cityId')
  t.strictSame(forbidden?.choices, { allowed: false, permission: 'shop:getCities' })
  t.end()
})

const field = (name: string, more: Partial<Field> = {}): Field => ({
  name,
  title: name,
  required: false,
  nullable: false,
  schema: { type: 'string' },
  ...more,
})
const cities: Choices = {
  operation: 'getCities',
  method: 'GET',
  path: '/cities',
  takesReason: false,
  hasBody: false,
  allowed: true,
  value: 'id',
  query: { country: { field: 'country' }, state: { value: 'open' } },
}
const fields = [
  field('name'),
  field('label', { follows: 'name' }),
  field('badge', { follows: 'label' }),
  field('country'),
  field('city', { choices: cities }),
  field('shop', { choices: { ...cities, query: { city: { field: 'city' } } } }),
]
const empty = { name: '', label: '', badge: '', country: '', city: '', shop: '' }
const always = () => true

t.test('a field follows another one, through further fields, until the user has changed it', (t) => {
  const named = withChange(empty, 'name', 'Ann', fields, always)
  t.strictSame(named, { ...empty, name: 'Ann', label: 'Ann', badge: 'Ann' })
  const own = withChange(named, 'name', 'Bea', fields, (name) => name !== 'label')
  t.strictSame(own, { ...empty, name: 'Bea', label: 'Ann', badge: 'Ann' })
  t.strictSame([...changedFollowers(fields, own)], ['label'], 'restored input knows which field the user has changed')
  t.end()
})

t.test('a new object begins with the default of the other field, an existing one keeps what it has', (t) => {
  const known = { ...empty, name: 'Ann' }
  t.strictSame(withDefaults(known, fields, always), { ...known, label: 'Ann', badge: 'Ann' })
  t.strictSame(
    withDefaults(known, fields, () => false),
    known,
  )
  const preset = [field('name'), field('label', { follows: 'name', schema: { type: 'string', default: 'x' } })]
  t.strictSame(withDefaults({ name: 'Ann', label: 'x' }, preset, always), { name: 'Ann', label: 'x' })
  t.end()
})

t.test('another value of a field clears what was chosen for the old one', (t) => {
  const chosen = { ...empty, country: 'NO', city: 'Oslo', shop: '7' }
  t.strictSame(withChange(chosen, 'country', 'NO', fields, always), chosen)
  t.strictSame(withChange(chosen, 'country', 'SE', fields, always), { ...empty, country: 'SE' })
  const ofPath = { ...cities, query: {}, params: { country: { field: 'country' } } }
  const several = field('towns', { choices: ofPath, schema: { type: 'array' } })
  t.strictSame(withChange({ country: 'NO', towns: ['1'] }, 'country', 'SE', [several], always), {
    country: 'SE',
    towns: [],
  })
  const forbidden = [field('country'), field('city', { choices: { allowed: false } })]
  const typed = { country: 'NO', city: '7' }
  t.strictSame(withChange(typed, 'country', 'SE', forbidden, always), { country: 'SE', city: '7' })
  t.end()
})

t.test('choices are read for the values of other fields, which must not be empty', (t) => {
  const [, , , , city] = fields
  const read = (values: Readonly<Record<string, unknown>>) =>
    knownChoices(cities, city ?? field(''), (name) => values[name])
  const { query, missing } = read({ country: 'NO' })
  t.strictSame({ query, missing }, { query: { country: 'NO', state: 'open' }, missing: undefined })
  for (const country of ['', null, undefined]) t.equal(read({ country }).missing, 'country', String(country))
  const ofPath = { ...cities, query: {}, params: { country: { field: 'country' } } }
  const { params, missing: absent } = knownChoices(ofPath, field('city', { choices: ofPath }), () => 7)
  t.strictSame({ params, absent }, { params: { country: '7' }, absent: undefined })
  t.equal(knownChoices(ofPath, field('city', { choices: ofPath }), () => '').missing, 'country')
  t.end()
})
