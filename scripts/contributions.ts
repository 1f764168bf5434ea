import type { Product } from '@plinth/kernel'
import type { RunningProduct } from '@plinth/kernel/host'
import { kernelPlugin } from '../kernel/src/kernel-plugin.ts'

/**
 * Returns what the plugins of a product contribute to each extension point, as JSON: for example the pages of the back
 * office with their columns, filters and actions. Functions are omitted.
 */
export function contributionsText(product: Product, running: Pick<RunningProduct, 'contributions'>): string {
  const points = [kernelPlugin, ...product.plugins].flatMap(({ extensionPoints = [] }) => extensionPoints)
  const contributions = points.map((point) => [point.id, Object.fromEntries(running.contributions(point))] as const)
  return `${JSON.stringify(Object.fromEntries(contributions), undefined, 2)}\n`
}
