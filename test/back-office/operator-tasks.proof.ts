/** Counts the clicks and keys that an operator needs for tasks in the back office, with and without a mouse. */
import { events } from '@plinth/events'
import t from 'tap'
import vouchers from '../../examples/vouchers/plugin.ts'
import { skip } from '../../plugins/console/test/fixtures/browser.ts'
import { password, startWithRows } from './back-office-rows.ts'
import { KeyboardActions } from './keyboard-hand.ts'
import { OperatorActions, type OperatorTask, openBackOffice, perform } from './operator-hand.ts'

// biome-ignore lint/suspicious/noExplicitAny: answers of many routes
type Data = any
type Product = Awaited<ReturnType<typeof startWithRows>>
type Api = Product['root']

/** Adds an order that was shipped and refunded, an order without points, and a permission to settle. */
async function addOrders({ root, logIn, running }: Product) {
  const buyer = await logIn('anna')
  const { items: goods } = await buyer('GET', 'mall/goods')
  const buy = async () => {
    const { orderNo, cashAmount } = await buyer('POST', 'mall/orders', {
      lines: [{ goodsId: goods[0].id, quantity: 1 }],
    })
    await buyer('POST', `mall/orders/${orderNo}/payments`, { provider: 'test' })
    await running.service(events).idle()
    return { orderNo, amount: cashAmount }
  }
  const { orderNo, amount } = await buy()
  await root('POST', `admin/mall/orders/${orderNo}/ship`)
  const { refundNo } = await buyer('POST', `mall/orders/${orderNo}/refunds`, { amount, reason: 'The parcel was empty' })
  await root('POST', `admin/mall/refunds/${refundNo}/decision`, { approve: true })
  await running.service(events).idle()
  const { items: rules } = await root('GET', 'admin/member-points/rules')
  const { code, type, config } = rules.find(({ code }: Data) => code === 'order-reward')
  const saveRule = (enabled: boolean) => root('POST', 'admin/member-points/rules', { code, type, config, enabled })
  await saveRule(false)
  await buy()
  await saveRule(true)
  const { items: roles } = await root('GET', 'admin/iam/roles')
  const { id, name, description, dataScope, permissions, version } = roles.find(({ code }: Data) => code === 'support')
  const added = [...permissions, 'money:web3:payment-settlement:execute']
  const role = { name, description, dataScope, permissions: added, version }
  await root('PUT', `admin/iam/roles/${id}`, role)
}

const twoHundred = Buffer.from(
  [
    'Code,Value,Holder',
    'gift!,10.00,bela',
    'GIFT-1500,10.00,nobody',
    'GIFT-1510,10.005,bela',
    ...Array.from({ length: 197 }, (_, at) => `GIFT-${at + 3},10.00,bela`),
  ].join('\n'),
)

const tasks: readonly OperatorTask<Api>[] = [
  {
    name: 'find out who changed a key, and put it back',
    most: [6, 0, 0],
    mostKeys: 35,
    async work(hand) {
      await hand.click(hand.place('Configuration'))
      await hand.click(hand.page.getByRole('link', { name: 'Change history', exact: true }))
      const rows = hand.page.locator('main tbody tr', { hasText: 'Site time zone' })
      await rows.filter({ hasText: 'Where the shop is' }).filter({ hasText: 'root' }).waitFor()
      await hand.choose(hand.row('Channel timeout'), 'Undo this change')
      await hand.click(hand.button('Preview changes'))
      await hand.dialog().getByRole('region', { name: 'Preview result' }).getByText('Channel timeout').waitFor()
      await hand.click(hand.button('Undo this change'))
    },
    async isDone(api) {
      const { items } = await api('GET', 'admin/system-config/history?key=platform.notification.send-deadline')
      return items.length === 2
    },
  },
  {
    name: 'change a secret',
    most: [4, 0, 14],
    mostKeys: 44,
    async work(hand) {
      const { page } = hand
      const field = page
        .locator('li[data-key="platform.mail.smtp.password"]')
        .getByLabel('SMTP password', { exact: true })
      await hand.click(hand.place('Configuration'))
      await hand.narrow(page.locator('main').getByRole('button', { name: /^Secret/ }), 'smtp pass')
      await hand.type(field, 'Another-word-4')
      await hand.saveOne()
      await hand.dialog().getByText('Applied on 1 of 1 instances').waitFor()
      await page.keyboard.press('Escape')
    },
    async isDone(api) {
      const { items } = await api('GET', 'admin/system-config/history?key=platform.mail.smtp.password')
      return items.length === 1 && !JSON.stringify(items).includes('Another-word')
    },
  },
  {
    name: 'change a secret, and verify it',
    most: [6, 3, 52],
    mostKeys: 22,
    async work(hand) {
      const { page } = hand
      const row = page.locator('li[data-key="platform.mail.smtp.password"]')
      const field = row.getByLabel('SMTP password', { exact: true })
      await hand.goTo('smtp.password', 'platform.mail.smtp.password')
      await hand.type(field, 'Another-word-5')
      await hand.review()
      await hand.type(hand.dialog().getByLabel('Reason'), 'It was told')
      await hand.click(hand.button('Save 1 change'))
      await hand.dialog().getByText('Applied on 1 of 1 instances').waitFor()
      await hand.press('Escape')
      await row.getByPlaceholder(/^Set/).waitFor()
      await hand.type(field, 'Another-word-5')
      await hand.click(row.getByRole('button', { name: 'Verify' }))
      await row.getByText('Matches the stored secret.').waitFor()
    },
    async isDone(api) {
      const { items } = await api('GET', 'admin/system-config/history?key=platform.mail.smtp.password')
      return items.length === 2 && !JSON.stringify(items).includes('Another-word')
    },
  },
  {
    name: 'see why a message was not sent, and send it again',
    most: [4, 0, 0],
    mostKeys: 26,
    async work(hand) {
      await hand.click(hand.attention('Messages that failed'))
      await hand.click(hand.row('Tea is running out'))
      await hand.page.locator('main dl').getByText('ECONNREFUSED').first().waitFor()
      await hand.click(hand.page.locator('main').getByRole('button', { name: 'Send again' }))
      await hand.click(hand.button('Send again'))
    },
    async isDone(api) {
      const { items } = await api('GET', 'notification-send-logs?channel=webhook')
      return items.length === 2
    },
  },
  {
    name: 'stop a schedule',
    most: [3, 0, 0],
    mostKeys: 35,
    async work(hand) {
      await hand.click(hand.place('Background work'))
      await hand.row('Remove old approvals').waitFor()
      await hand.search('approv')
      await hand.choose(hand.row('Remove old approvals'), 'Pause')
      await hand.page.getByRole('status').getByRole('button', { name: 'Undo' }).waitFor()
    },
    async isDone(api) {
      const scheduled = await api('GET', 'admin/scheduler/tasks')
      return scheduled.some(({ name, paused }: Data) => name === 'approval.purge' && paused)
    },
  },
  {
    name: 'end all sessions of a user',
    most: [4, 0, 0],
    mostKeys: 25,
    async work(hand) {
      await hand.click(hand.place('Access'))
      await hand.choose(hand.row('bela'), 'End all sessions')
      await hand.click(hand.button('End all sessions'))
    },
    async isDone(api) {
      const { items } = await api('GET', 'admin/iam/users?keyword=bela')
      return (await api('GET', `admin/iam/users/${items[0].id}/sessions`)).length === 0
    },
  },
  {
    name: 'give a role',
    most: [6, 0, 0],
    mostKeys: 44,
    async work(hand) {
      await hand.click(hand.place('Access'))
      await hand.click(hand.page.locator('main').getByRole('link', { name: 'chen' }))
      await hand.click(hand.page.locator('main').getByRole('button', { name: 'Change', exact: true }))
      await hand.pick('Roles', 'Customer service')
      await hand.click(hand.button('Save'))
    },
    async isDone(api) {
      const { items } = await api('GET', 'admin/iam/users?keyword=chen')
      return items[0].roles.length === 1
    },
  },
  {
    name: 'find what a permission opens',
    most: [1, 2, 8],
    mostKeys: 24,
    async work(hand) {
      await hand.goTo('and perm', 'Roles and permissions')
      await hand.search('delete users')
      await hand.click(hand.page.getByRole('button', { name: 'Delete users' }))
      await hand
        .dialog()
        .getByText(/^DELETE \/api\/v1\/admin\/iam\/users\/.id/)
        .waitFor()
      await hand.dialog().getByText('Super administrator').first().waitFor()
    },
  },
  {
    name: 'retry a dead event',
    most: [4, 0, 0],
    mostKeys: 30,
    async work(hand) {
      await hand.click(hand.attention('Events that were not delivered'))
      await hand.click(hand.row('shop.order-paid'))
      await hand.page.locator('main dl').getByText('The warehouse does not answer').waitFor()
      await hand.click(hand.page.locator('main').getByRole('button', { name: 'Deliver again' }))
      await hand.click(hand.button('Deliver again'))
    },
    async isDone(api) {
      return (await api('GET', 'admin/events/outbox?type=shop.order-paid')).items[0].status !== 'failed'
    },
  },
  {
    name: 'write a template, and see a send fail and succeed',
    most: [15, 6, 62],
    mostKeys: 82,
    async work(hand) {
      const { page } = hand
      await hand.goTo('message t', 'Message templates')
      await hand.click(page.locator('main').getByRole('button', { name: 'New template' }))
      const field = (label: string) => hand.dialog().getByLabel(label).first()
      await hand.type(field('Code'), 'price')
      await hand.find('Language', 'en', 'English (en)')
      await hand.type(field('Subject'), 'Tea costs {{price}}')
      await hand.type(field('Text'), 'From now on.')
      const preview = hand.dialog().getByRole('region', { name: 'Preview' })
      await preview.getByText('1 variable has no value.').waitFor()
      await preview.getByText('From now on.').waitFor()
      await hand.click(hand.button('Save'))
      await hand.row('price').waitFor()
      await hand.goTo('new m', 'New message')
      for (const channel of ['Inbox', 'Webhook']) await hand.pick('Channels', channel, page)
      await hand.find('Recipients', 'anna', 'anna', page)
      await hand.press('Enter')
      await hand.find('Template', 'price', /^price/, page)
      await hand.press('Enter')
      await hand.type(page.locator('main').getByLabel('price'), '7')
      await page.getByRole('article', { name: 'Webhook' }).getByText('Tea costs 7').waitFor()
      await hand.click(page.locator('main').getByRole('button', { name: 'Send', exact: true }))
      await hand.click(hand.button('Send'))
      await hand.dialog().locator('tbody tr', { hasText: 'Inbox' }).getByText('Accepted').waitFor()
      await hand.dialog().locator('tbody tr', { hasText: 'Webhook' }).getByText('ECONNREFUSED').waitFor()
    },
    async isDone(api) {
      const { items } = await api('GET', 'notification-send-logs?channel=database')
      return items[0].subject === 'Tea costs 7'
    },
  },
  {
    name: 'adjust points',
    most: [6, 2, 28],
    mostKeys: 21,
    async work(hand) {
      await hand.goTo('points acc', 'Points accounts')
      await hand.click(hand.page.locator('main').getByRole('button', { name: 'Adjust points' }))
      await hand.find('Member', 'chen', 'chen')
      await hand.type(hand.dialog().getByLabel('Points'), '25')
      await hand.type(hand.dialog().getByLabel('Reason', { exact: false }).first(), 'A broken cup')
      await hand.click(hand.button('Preview changes'))
      await hand.dialog().getByRole('region', { name: 'Preview result' }).getByText('825').waitFor()
      await hand.click(hand.button('Adjust'))
    },
    async isDone(api) {
      const { items } = await api('GET', 'admin/iam/users?keyword=chen')
      const { items: ledgers } = await api('GET', `admin/member-points/accounts?userId=${items[0].id}`)
      return ledgers[0].available === 825
    },
  },
  {
    name: 'find out which refunds wait longest',
    most: [5, 1, 0],
    mostKeys: 60,
    async work(hand) {
      const main = hand.page.locator('main')
      await hand.click(hand.place('Orders and payments'))
      await hand.click(hand.page.getByRole('link', { name: 'Refunds', exact: true }))
      await hand.click(main.getByRole('button', { name: 'Status', exact: true }))
      await hand.click(main.getByRole('checkbox', { name: 'Awaiting decision' }))
      await hand.press('Escape')
      await hand.click(main.getByRole('button', { name: 'Created at', exact: true }))
      await hand.page
        .getByRole('columnheader', { name: 'Created at' })
        .and(hand.page.locator('[aria-sort=ascending]'))
        .waitFor()
      await hand.row('One cup is broken').waitFor()
    },
  },
  {
    name: 'hand the Monday view to a colleague',
    most: [9, 1, 6],
    mostKeys: 60,
    async work(hand) {
      const main = hand.page.locator('main')
      await hand.click(hand.place('Access'))
      await hand.click(main.getByRole('button', { name: 'Enabled', exact: true }))
      await hand.click(main.getByRole('checkbox', { name: 'Yes' }))
      await hand.press('Escape')
      await hand.click(main.getByRole('button', { name: 'Views' }))
      await hand.click(main.getByRole('menuitem', { name: 'Save this view' }))
      await hand.type(hand.dialog().getByLabel('Name of the view'), 'Monday')
      await hand.pick('For', 'Customer service')
      await hand.click(hand.button('Save'))
      await main.getByRole('button', { name: 'Monday' }).waitFor()
    },
    async isDone(api) {
      const { shared } = await api('GET', 'admin/console/pages/iam.users')
      return shared.views.some(({ name, role }: Data) => name === 'Monday' && role === 'Customer service')
    },
  },
  {
    name: 'import 200 vouchers with three faults',
    // The dialog of the operating system for the file is not counted.
    most: [2, 2, 5],
    mostKeys: 20,
    async work(hand) {
      const file = { name: 'vouchers.csv', mimeType: 'text/csv', buffer: twoHundred }
      await hand.goTo('vouch', 'Vouchers')
      await hand.click(hand.page.locator('main').getByRole('button', { name: 'Import a CSV file' }))
      await hand.dialog().getByLabel('CSV file').setInputFiles(file)
      await hand.dialog().getByText('200 rows: 197 can be imported, 3 problems').waitFor()
      await hand.click(hand.button('Import the 197 rows without problems'))
      await hand.dialog().getByText('197 of 200 rows imported').waitFor()
    },
    async isDone(api) {
      return (await api('GET', 'admin/example-vouchers?count=exact')).total === 197
    },
  },
  {
    name: 'correct the note of a voucher in its cell',
    most: [1, 3, 17],
    mostKeys: 20,
    async work(hand) {
      await hand.goTo('vouch', 'Vouchers')
      await hand.click(hand.row('GIFT-199').getByRole('button', { name: 'Change Note: GIFT-199' }))
      await hand.dialog().getByLabel('Note').and(hand.page.locator(':focus')).waitFor()
      await hand.typeInFocus('For regulars')
      await hand.press('Enter')
      await hand.page.getByRole('status').getByRole('button', { name: 'Undo' }).waitFor()
    },
    async isDone(api) {
      return (await api('GET', 'admin/example-vouchers?keyword=GIFT-199')).items[0].note === 'For regulars'
    },
  },
  {
    name: 'find out why a member did not get the points of an order',
    most: [2, 0, 0],
    mostKeys: 12,
    async work(hand) {
      await hand.click(hand.place('Orders and payments'))
      await hand.click(hand.row('Paid').getByRole('link').first())
      const reward = hand.page.locator('main li', { hasText: 'Points for the order' })
      await reward.getByText('None: the rule was off').waitFor()
    },
  },
  {
    name: 'find out who may settle',
    most: [3, 0, 0],
    mostKeys: 40,
    async work(hand) {
      const { page } = hand
      await hand.click(hand.place('Access'))
      await hand.click(page.locator('main').getByRole('link', { name: 'Roles and permissions' }))
      const permission = page.getByRole('button', { name: 'Execute settlements', exact: true })
      await permission.waitFor()
      await hand.search('settle')
      await hand.click(permission)
      await hand.dialog().getByText('Customer service').waitFor()
      await hand
        .dialog()
        .getByText(/\banna\b/)
        .waitFor()
    },
  },
  {
    name: 'find out what happened to an order',
    most: [2, 0, 0],
    mostKeys: 13,
    async work(hand) {
      await hand.click(hand.place('Orders and payments'))
      await hand.click(hand.row('Refunded').getByRole('link').first())
      const story = hand.page.locator('main ol')
      for (const text of [
        'Order created',
        'Order paid',
        'Mark as shipped',
        'Refund requested',
        'Refund decided',
        'Points taken back',
      ])
        await story.getByText(text).first().waitFor()
    },
  },
]

for (const [way, Hand] of [
  ['a mouse', OperatorActions],
  ['the keyboard alone', KeyboardActions],
] as const)
  t.test(`the most frequent tasks of operators, with ${way}`, { skip, timeout: 600_000 }, async (t) => {
    const works: (() => Promise<unknown>)[] = []
    t.teardown(async () => {
      for (const work of works.reverse()) await work()
    })
    const product = await startWithRows((work) => works.push(work), { plugins: [vouchers] })
    await addOrders(product)
    const { root, url } = product
    const office = await openBackOffice(t, url, password)
    for (const task of tasks) await perform(t, office, task, root, Hand)
    if (Hand === KeyboardActions) return
    // The colleague has the role and opens the view.
    const { page, complaints } = await openBackOffice(t, `${url}iam.users`, password, 'anna')
    const colleague = new Hand(page)
    await colleague.begin()
    await colleague.click(page.locator('main').getByRole('button', { name: 'Views' }))
    await colleague.click(page.getByRole('menuitem', { name: 'Monday · Customer service' }))
    await page.getByRole('button', { name: 'Enabled: Yes' }).waitFor()
    t.comment(`open the view of a colleague: ${colleague.clicks} clicks, ${colleague.keys} keys`)
    t.ok(colleague.clicks <= 2)
    t.strictSame(complaints, [])
  })
