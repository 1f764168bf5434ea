import { defineEntity } from '@mikro-orm/core'
import databasePlugin, { column } from '@plinth/database'
import { key } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
import { createAcmePlugin, declareMembers, type Mistake } from './mistake.ts'

const title = { en: 'Orders', 'zh-CN': '订单' }
const run = () => {}

const order = defineEntity({
  name: 'AcmeOrder',
  tableName: 'acme_order',
  properties: { id: column.primaryKey(), note: column.text(50), paid: column.boolean() },
})

type Columns = Record<'id' | 'note' | 'paid' | 'total', boolean>

/**
 * Returns a change set for the entity above. `columns` specifies for each column whether it is nullable. A column with
 * the value `undefined` is omitted.
 */
const createOrder = (columns: Partial<Columns>, table = 'acme_order') =>
  defineChangeSet({
    id: '0001-create-order',
    up: ({ schema, type }) => {
      const types = { id: type.id, note: type.text(50), paid: type.boolean, total: type.integer }
      return [
        Object.entries(columns).reduce(
          (builder, [name, isNullable]) =>
            builder.addColumn(name, types[name as keyof Columns], (c) =>
              name === 'id' ? c.primaryKey() : isNullable ? c : c.notNull(),
            ),
          schema.createTable(table),
        ),
      ]
    },
  })

/** Returns a product with a database, and with a plugin whose members contain the mistake. */
const onDatabase = (members: () => object) => () => [databasePlugin, createAcmePlugin(members())]

const withTable = (...parts: Parameters<typeof createOrder>) =>
  onDatabase(() => ({ entities: [order], migrations: [createOrder(...parts)] }))

/** Mistakes in change sets and entities. */
export const tableMistakes: readonly Mistake[] = [
  {
    id: 'migrations-sql',
    mistake: 'A change set is SQL text',
    product: declareMembers(() => ({ migrations: ['create table acme_order (id integer)'] })),
    code: 'PLINTH_PLAN_INVALID_DECLARATION',
    place: 'migrations[0]',
    cause: 'must be a change set made by defineChangeSet()',
    fix: 'defineChangeSet',
  },
  {
    id: 'change-set-id',
    mistake: 'The id of a change set has no number of four digits',
    product: declareMembers(() => ({ migrations: [defineChangeSet({ id: '1-create', up: () => [] })] })),
    code: 'PLINTH_PLAN_INVALID_DECLARATION',
    place: 'migrations[0].id',
    cause: '"1-create"',
    fix: '0001-create',
  },
  {
    id: 'change-set-plain',
    mistake: 'A change set is a plain object',
    product: onDatabase(() => ({ migrations: [{ id: '0001-create-order', up: () => [] }] })),
    code: 'PLINTH_MIGRATION_INVALID',
    place: '0001-create-order',
    cause: 'not made by defineChangeSet',
    fix: '@plinth/migrations',
  },
  {
    id: 'change-set-up-text',
    mistake: 'up is SQL text',
    product: declareMembers(() => ({ migrations: [defineChangeSet({ id: '0001-create', up: 'select 1' as never })] })),
    code: 'PLINTH_PLAN_INVALID_DECLARATION',
    place: 'migrations[0].up',
    cause: 'must be a function',
    fix: 'defineChangeSet',
  },
  {
    id: 'change-set-raw-strings',
    mistake: 'up returns raw strings',
    product: onDatabase(() => ({
      migrations: [
        defineChangeSet({ id: '0001-create-order', up: () => ['create table acme_order (id integer)'] as never }),
      ],
    })),
    code: 'PLINTH_MIGRATION_INVALID',
    place: 'acme.shop/0001-create-order',
    cause: 'statement 1 is the text "create table acme_order',
    fix: 'sql`',
  },
  {
    id: 'change-set-no-list',
    mistake: 'up returns one statement instead of a list',
    product: onDatabase(() => ({
      migrations: [
        defineChangeSet({ id: '0001-create-order', up: ({ schema }) => schema.createTable('acme_order') as never }),
      ],
    })),
    code: 'PLINTH_MIGRATION_INVALID',
    place: 'acme.shop/0001-create-order',
    cause: '`up` must return a list of statements',
    fix: '@plinth/migrations',
  },
  {
    id: 'change-set-async',
    mistake: 'up is an async function',
    product: onDatabase(() => ({
      migrations: [defineChangeSet({ id: '0001-create-order', up: (async () => []) as never })],
    })),
    code: 'PLINTH_MIGRATION_INVALID',
    place: 'acme.shop/0001-create-order',
    cause: 'is a promise',
    fix: '@plinth/migrations',
  },
  {
    id: 'change-set-camel-case',
    mistake: 'A table is named in camelCase',
    product: withTable({ id: false }, 'acmeOrder'),
    code: 'PLINTH_MIGRATION_INVALID',
    place: 'acme.shop/0001-create-order',
    cause: '"acmeOrder"',
    fix: 'Correct the change set',
  },
  {
    id: 'entity-text',
    mistake: 'An entity is the name of its table',
    product: declareMembers(() => ({ entities: ['acme_order'] })),
    code: 'PLINTH_PLAN_INVALID_DECLARATION',
    place: 'entities[0]',
    cause: 'but is "acme_order"',
    fix: 'defineEntity',
  },
  {
    id: 'entity-without-change-set',
    mistake: 'An entity has no change set',
    product: onDatabase(() => ({ entities: [order] })),
    code: 'PLINTH_DATABASE_ENTITY_SCHEMA',
    place: 'acme_order',
    cause: 'entity AcmeOrder has no table',
    fix: 'change set',
  },
  {
    id: 'entity-column-missing',
    mistake: 'An entity has a column that no change set adds',
    product: withTable({ id: false, note: false }),
    code: 'PLINTH_DATABASE_ENTITY_SCHEMA',
    place: 'acme_order.paid',
    cause: 'column is missing',
    fix: 'change set',
  },
  {
    id: 'entity-column-undeclared',
    mistake: 'A required column of the table is not in the entity',
    product: withTable({ id: false, note: false, paid: false, total: false }),
    code: 'PLINTH_DATABASE_ENTITY_SCHEMA',
    place: 'acme_order.total',
    cause: 'not a property of the entity',
    fix: 'change set',
  },
  {
    id: 'entity-column-nullable',
    mistake: 'A column may be null and the property may not',
    product: withTable({ id: false, note: true, paid: false }),
    code: 'PLINTH_DATABASE_ENTITY_SCHEMA',
    place: 'acme_order.note',
    cause: 'may be null',
    fix: 'change set',
  },
]

const task = {
  code: 'check-shop',
  displayName: title,
  order: 500,
  required: true,
  retryable: true,
  isCompleted: run,
  run,
}
const installTask = (members: object) => declareMembers(() => ({ installTasks: [{ ...task, ...members }] }))

const repeated = { name: 'acme.poll', displayName: title, fixedDelay: 60_000, autoStartup: true, run }
const scheduledTask = (members: object) => declareMembers(() => ({ scheduledTasks: [{ ...repeated, ...members }] }))

const command = (members: object) =>
  declareMembers(() => ({ commands: [{ name: 'shop list', summary: 'x', run, ...members }] }))

/** Mistakes in install tasks, scheduled tasks and commands. */
export const taskMistakes: readonly Mistake[] = [
  {
    id: 'install-task-code',
    mistake: 'The code of an install task is in camelCase',
    product: installTask({ code: 'checkShop' }),
    code: 'PLINTH_PLAN_INVALID_DECLARATION',
    place: 'installTasks[0].code',
    cause: '"checkShop"',
    fix: "code: '",
  },
  {
    id: 'install-task-without-run',
    mistake: 'An install task has no run',
    product: installTask({ run: undefined }),
    code: 'PLINTH_PLAN_INVALID_DECLARATION',
    place: 'installTasks[0].run',
    cause: 'must be a function, but is missing',
    fix: 'run',
  },
  {
    id: 'install-task-order',
    mistake: 'The order of an install task is a text',
    product: installTask({ order: 'first' }),
    code: 'PLINTH_PLAN_INVALID_DECLARATION',
    place: 'installTasks[0].order',
    cause: 'but is "first"',
    fix: 'order: 500',
  },
  {
    id: 'install-task-dependencies',
    mistake: 'The dependencies of an install task are one text',
    product: installTask({ dependencies: 'migrate-database' }),
    code: 'PLINTH_PLAN_INVALID_DECLARATION',
    place: 'installTasks[0].dependencies',
    cause: 'must be a list',
    fix: 'installTasks: [',
  },
  {
    id: 'scheduled-task-id',
    mistake: 'Two scheduled tasks have an id instead of a name',
    product: declareMembers(() => ({
      scheduledTasks: ['one', 'two'].map((id) => ({ ...repeated, name: undefined, id })),
    })),
    code: 'PLINTH_PLAN_INVALID_DECLARATION',
    place: 'scheduledTasks[1].name',
    cause: 'but is missing',
    fix: "name: '",
  },
  {
    id: 'scheduled-task-delay-text',
    mistake: 'The delay of a scheduled task is a text with a unit',
    product: scheduledTask({ fixedDelay: '5m' }),
    code: 'PLINTH_PLAN_TASK_KEY',
    place: 'scheduledTasks[0].fixedDelay',
    cause: 'fixedDelay from key "5m"',
    fix: 'milliseconds',
  },
  {
    id: 'scheduled-task-delay-negative',
    mistake: 'The delay of a scheduled task is below zero',
    product: scheduledTask({ fixedDelay: -1 }),
    code: 'PLINTH_PLAN_INVALID_DECLARATION',
    place: 'scheduledTasks[0].fixedDelay',
    cause: 'but is -1',
    fix: 'fixedDelay: ',
  },
  {
    id: 'scheduled-task-delay-key',
    mistake: 'The key of the delay is not a duration',
    product: declareMembers(() => ({
      config: { 'platform.shop.poll': key.string({ title, default: 'often' }) },
      scheduledTasks: [{ ...repeated, fixedDelay: 'platform.shop.poll' }],
    })),
    code: 'PLINTH_PLAN_TASK_KEY_TYPE',
    place: 'scheduledTasks[0].fixedDelay',
    cause: 'platform.shop.poll',
    fix: 'key.duration',
  },
  {
    id: 'scheduled-task-misspelt',
    mistake: 'A member of a scheduled task is misspelt',
    product: scheduledTask({ autoStartup: undefined, autostartup: true }),
    code: 'PLINTH_PLAN_INVALID_DECLARATION',
    place: 'scheduledTasks[0].autoStartup',
    cause: 'did you write "autostartup"?',
    fix: 'autoStartup: true',
  },
  {
    id: 'command-without-run',
    mistake: 'The function of a command is named action',
    product: command({ run: undefined, action: run }),
    code: 'PLINTH_PLAN_INVALID_DECLARATION',
    place: 'commands[0].run',
    cause: 'must be a function, but is missing',
    fix: 'run',
  },
  {
    id: 'command-arguments-text',
    mistake: 'The arguments of a command are one text',
    product: command({ arguments: '[id]' }),
    code: 'PLINTH_PLAN_INVALID_DECLARATION',
    place: 'commands[0].arguments',
    cause: 'must be a list',
    fix: 'commands: [',
  },
]
