import { guardsPermission, key } from '@plinth/kernel'

export const keys = {
  'platform.opentelemetry.endpoint': key.string({
    title: { en: 'Address of the collector', 'zh-CN': '采集器地址' },
    description: {
      en: 'Receives the spans by OTLP over HTTP as JSON, for example http://127.0.0.1:4318/v1/traces. Empty: traces are disabled.',
      'zh-CN': '以 OTLP/HTTP（JSON）接收 span，例如 http://127.0.0.1:4318/v1/traces。留空则不启用链路追踪。',
    },
    default: '',
    maxLength: 512,
    pattern: '^(?:https?://[^/?#@\\s\\\\]+/[^?#\\s\\\\]*)?$',
    rule: {
      en: 'be empty or an http or https address with a path, without user name, "?" and "#"',
      'zh-CN': '为空，或是带路径且不含用户名、“?”和“#”的 http 或 https 地址',
    },
    scope: 'process',
  }),
  'platform.opentelemetry.headers': key.stringList({
    title: { en: 'Headers for the collector', 'zh-CN': '发送给采集器的请求头' },
    description: {
      en: 'Each entry is "name: value", for example "authorization: Bearer secret".',
      'zh-CN': '每项为“名称: 值”，例如“authorization: Bearer secret”。',
    },
    default: [],
    maxItems: 20,
    items: { pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+: ?[\\x21-\\x7e](?:[\\x20-\\x7e]*[\\x21-\\x7e])?$" },
    rule: { en: 'be a header name, a colon and a value in ASCII', 'zh-CN': '由请求头名称、冒号和 ASCII 值组成' },
    sensitive: true,
    scope: 'process',
  }),
  'platform.opentelemetry.service-name': key.string({
    title: { en: 'Service name in traces', 'zh-CN': '链路中的服务名' },
    description: {
      en: 'Attribute service.name of all spans. Empty: the name of the product.',
      'zh-CN': '所有 span 的 service.name 属性；留空则使用产品名称。',
    },
    default: '',
    maxLength: 100,
    scope: 'process',
  }),
  'platform.opentelemetry.sampling-ratio': key.number({
    title: { en: 'Sampled part of the traces', 'zh-CN': '链路采样比例' },
    description: {
      en: 'From 0 (none) to 1 (all). Only sampled traces are sent to the collector. Each trace has an id anyway.',
      'zh-CN': '0（不采样）到 1（全部）。只有被采样的链路会发送到采集器，但每条链路都有编号。',
    },
    default: 0.01,
    minimum: 0,
    maximum: 1,
    reload: 'live',
  }),
  'platform.opentelemetry.trusted-callers': key.cidrList({
    title: { en: 'Callers whose traces continue', 'zh-CN': '可延续链路的调用方' },
    description: {
      en: 'Addresses and CIDR ranges of clients. Their header traceparent decides the trace id and whether the trace is sampled. For all other callers a new trace begins, with a link to theirs.',
      'zh-CN':
        '客户端的地址和 CIDR 网段。其请求头 traceparent 决定链路编号和是否采样；其他调用方的请求开始新链路，并链接到对方的链路。',
    },
    default: [],
    maxItems: 1000,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.opentelemetry.shown-to': key.stringList({
    title: { en: 'Hosts that receive trace ids', 'zh-CN': '可接收链路编号的主机' },
    description: {
      en: 'Host names, or *.name, whose outgoing requests contain the header traceparent. Webhooks always contain it.',
      'zh-CN': '发往这些主机（主机名或 *.名称）的请求带有 traceparent 请求头；Webhook 始终带有。',
    },
    default: [],
    maxItems: 1000,
    items: { pattern: '^(?:\\*\\.)?[a-z0-9](?:[a-z0-9.:-]*[a-z0-9])?$' },
    rule: { en: 'be a host name in lower case or *.name, without a port', 'zh-CN': '是小写主机名或 *.名称，不含端口' },
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.opentelemetry.link': key.string({
    title: { en: 'Address of a trace', 'zh-CN': '链路页面地址' },
    description: {
      en: 'Address of a trace in the tracing system, for example https://tempo.example.com/trace/{{traceId}}. The back office links trace ids to it. Empty: no links.',
      'zh-CN':
        '链路在追踪系统中的地址，例如 https://tempo.example.com/trace/{{traceId}}。管理后台的链路编号将链接到该地址；留空则无链接。',
    },
    default: '',
    maxLength: 512,
    pattern: '^(?:https://[^/\\s\\\\]+/[^\\s\\\\]*\\{\\{traceId\\}\\}[^\\s\\\\]*)?$',
    rule: {
      en: 'be empty or an https address that contains {{traceId}}',
      'zh-CN': '为空，或是包含 {{traceId}} 的 https 地址',
    },
    reload: 'live',
  }),
  'platform.opentelemetry.export-timeout': key.duration({
    title: { en: 'Timeout of an export', 'zh-CN': '发送超时时间' },
    description: {
      en: 'Maximum time for sending a batch of spans, and for sending the last spans at the stop. Later the spans are lost.',
      'zh-CN': '发送一批 span 以及停止时发送最后一批的最长时间，超时则丢弃。',
    },
    default: '5s',
    minimum: '100ms',
    maximum: '1m',
    scope: 'process',
  }),
}
