import { type Attributes, type Context, type Link, type SpanKind, TraceFlags } from '@opentelemetry/api'
import {
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  type SamplingResult,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace'

/**
 * Returns the sampler of the product. A span has the decision of its parent. A new trace is sampled by the ratio, or if
 * it refers to a sampled trace of this product.
 *
 * @param ratio returns the sampled part of the traces, 0 to 1
 */
export const createSampler = (ratio: () => number): Sampler => new ParentBasedSampler({ root: new RootSampler(ratio) })

class RootSampler implements Sampler {
  readonly #ratio: () => number
  #current = { ratio: -1, sampler: new TraceIdRatioBasedSampler(0) }

  constructor(ratio: () => number) {
    this.#ratio = ratio
  }

  shouldSample(
    _context: Context,
    traceId: string,
    _name: string,
    _kind: SpanKind,
    _attributes: Attributes,
    links: Link[],
  ): SamplingResult {
    const ratio = this.#ratio()
    if (ratio !== this.#current.ratio) this.#current = { ratio, sampler: new TraceIdRatioBasedSampler(ratio) }
    if (links.some(({ context }) => context.isRemote !== true && (context.traceFlags & TraceFlags.SAMPLED) !== 0)) {
      return { decision: SamplingDecision.RECORD_AND_SAMPLED }
    }
    return this.#current.sampler.shouldSample(_context, traceId)
  }

  toString(): string {
    return `Plinth{${this.#ratio()}}`
  }
}
