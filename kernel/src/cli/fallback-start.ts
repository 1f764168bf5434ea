import type { StartFailure } from '../contracts/kernel.ts'
import { isPlinthError, reasonOf } from '../errors/coded-error.ts'
import { StartRefusedError } from '../errors/kernel-errors.ts'
import { type Product, prepareProduct } from '../product.ts'
import { type RunningProduct, type StartOptions, startProduct } from '../running-product.ts'

/**
 * Starts a product for good. When that fails, a plugin may name values under which the product starts all the same, so
 * that somebody can mend it in the browser.
 *
 * @param progress tells the operator how it goes on
 * @throws as the first start does, also when the second one fails
 */
export async function startWithFallback(
  product: Product,
  options: StartOptions,
  progress: (text: string) => void,
): Promise<RunningProduct> {
  try {
    return await startProduct(product, options)
  } catch (error) {
    const isFinal = error instanceof StartRefusedError || options.signal?.aborted || !options.roles?.includes('web')
    const failure = failureOf(error)
    const fallback = isFinal ? undefined : await fallbackFor(product, options, failure)
    if (fallback === undefined) throw error
    progress(`${failure.reason} The product starts without what failed, so that it can be mended in the browser.`)
    return startProduct(product, { ...options, fallback, fallbackReason: failure }).catch((second: unknown) => {
      progress(`That failed as well. ${reasonOf(second)}`)
      throw error
    })
  }
}

/** What the first plugin that can help says. */
async function fallbackFor(product: Product, options: StartOptions, failure: StartFailure) {
  const { plan, config } = prepareProduct(product, options)
  for (const { id, fallbackStart } of plan.plugins) {
    const values = await fallbackStart?.({
      ...failure,
      root: product.root,
      explain: (key) => config.explain(key),
      get: (key) => config.get(id, key),
    })
    if (values !== undefined) return values
  }
  return undefined
}

/** What a plugin said rather than where. */
export function failureOf(error: unknown): StartFailure {
  const cause = error instanceof Error && isPlinthError(error.cause) ? error.cause : error
  return { code: isPlinthError(cause) ? cause.code : '', reason: reasonOf(cause) }
}
