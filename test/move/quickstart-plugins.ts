import type { Plugin } from '@plinth/kernel'
import { kernelVersion, planProduct } from '@plinth/kernel/host'
import quickstart from '../../examples/quickstart/plinth.config.ts'

export const { plugins: quickstartPlugins } = planProduct(quickstart.plugins, {
  kernelVersion,
  roles: ['web', 'worker'],
})

export const processTablesOf = (plugins: readonly Plugin[]): ReadonlySet<string> =>
  new Set(plugins.flatMap(({ processTables = [] }) => processTables))
