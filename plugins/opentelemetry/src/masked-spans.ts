import type { Attributes, AttributeValue } from '@opentelemetry/api'
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace'

/** Masks a text. Never throws. */
type Mask = (text: string) => string

/** Maximum length of a text in a span, in UTF-16 units. Longer texts are cut after they are masked. */
const maxTextLength = 1_024

/**
 * Passes copies of ended spans on, in which all texts are masked: names, attributes, events, links and errors. This
 * includes spans of other code that uses the API of OpenTelemetry.
 */
export class MaskingSpanProcessor implements SpanProcessor {
  readonly #next: SpanProcessor
  readonly #mask: Mask

  constructor(next: SpanProcessor, mask: Mask) {
    this.#next = next
    this.#mask = (text) => mask(text).slice(0, maxTextLength)
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    this.#next.onEnd(maskedSpan(span, this.#mask))
  }

  forceFlush(): Promise<void> {
    return this.#next.forceFlush()
  }

  shutdown(): Promise<void> {
    return this.#next.shutdown()
  }
}

function maskedSpan(span: ReadableSpan, mask: Mask): ReadableSpan {
  const { kind, parentSpanContext, startTime, endTime, duration, ended, resource, instrumentationScope } = span
  const { droppedAttributesCount, droppedEventsCount, droppedLinksCount, status } = span
  const context = span.spanContext()
  return {
    name: mask(span.name),
    kind,
    spanContext: () => context,
    ...(parentSpanContext === undefined ? {} : { parentSpanContext }),
    startTime,
    endTime,
    duration,
    ended,
    resource,
    instrumentationScope,
    droppedAttributesCount,
    droppedEventsCount,
    droppedLinksCount,
    status: status.message === undefined ? status : { ...status, message: mask(status.message) },
    attributes: maskedAttributes(span.attributes, mask),
    links: span.links.map((link) => ({ ...link, attributes: maskedAttributes(link.attributes ?? {}, mask) })),
    events: span.events.map((event) => ({
      ...event,
      name: mask(event.name),
      attributes: maskedAttributes(event.attributes ?? {}, mask),
    })),
  }
}

const maskedAttributes = (attributes: Attributes, mask: Mask): Attributes =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      mask(name),
      value === undefined ? value : maskedValue(value, mask),
    ]),
  )

function maskedValue(value: AttributeValue, mask: Mask): AttributeValue {
  if (typeof value === 'string') return mask(value)
  if (!Array.isArray(value)) return value
  return value.map((item) => (typeof item === 'string' ? mask(item) : item)) as AttributeValue
}
