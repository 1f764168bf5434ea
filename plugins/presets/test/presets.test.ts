import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineProduct, type Plugin } from '@plinth/kernel'
import { prepareProduct } from '@plinth/kernel/host'
import { notificationChannels } from '@plinth/notification-channels'
import { rateLimitStores } from '@plinth/rate-limit-stores'
import { webhookProviders } from '@plinth/webhook-providers'
import t from 'tap'
import { commerce } from '../src/commerce.ts'
import { notifications } from '../src/notifications.ts'
import { operations } from '../src/operations.ts'
import { platform } from '../src/platform.ts'
import { web3Payments } from '../src/web3-payments.ts'

const problemsOf = (plugins: readonly Plugin[]) =>
  prepareProduct(defineProduct({ name: 'preset', plugins }), { envFile: false, environment: {} }).problems
const idsOf = (plugins: readonly Plugin[]) => plugins.map(({ id }) => id).sort()

t.test('a family contains every plugin that its package exports', async (t) => {
  const families = [
    ['notification-channels', notificationChannels],
    ['rate-limit-stores', rateLimitStores],
    ['webhook-providers', webhookProviders],
  ] as const
  for (const [name, members] of families) {
    const folder = join(import.meta.dirname, '../..', name)
    const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const modules = await Promise.all(
      Object.entries<{ readonly default: string }>(exports)
        .filter(([path]) => path !== '.')
        .map(async ([, file]): Promise<{ readonly default?: Plugin }> => import(join(folder, file.default))),
    )
    const opened = modules.flatMap(({ default: plugin }) => plugin ?? [])
    t.ok(opened.length > 3, name)
    t.strictSame(idsOf(members), idsOf(opened), name)
  }
})

t.test('a preset can be planned together with the presets that it requires', async (t) => {
  const stacks = { platform, operations, commerce, web3Payments }
  let plugins: readonly Plugin[] = []
  for (const [name, preset] of Object.entries(stacks)) {
    plugins = [...plugins, ...preset]
    t.strictSame(problemsOf(plugins), [], name)
  }
  t.strictSame(problemsOf([...platform, ...operations, ...notifications]), [], 'notifications')
})

t.test('no plugin is in two presets', async (t) => {
  const ids = idsOf([...platform, ...operations, ...notifications, ...commerce, ...web3Payments])
  t.strictSame([...new Set(ids)], ids)
})
