import {
  type BoundInstallTask,
  type Clock,
  checkRateLimitRequest,
  type DeliveryOutcome,
  type NotificationChannel,
  type NotificationMessage,
  type RateLimitDecision,
  type RateLimitRequest,
  type RateLimitStore,
  type SendContext,
  type StoreContext,
} from '@plinth/kernel'
import {
  type ConformanceCase,
  ConformanceError,
  installTaskCases,
  notificationChannelCases,
  rateLimitStoreCases,
} from '@plinth/kernel/conformance'
import t, { type Test } from 'tap'

type Cases = readonly ConformanceCase[]

/** Every case passes over the sound implementation, and refuses each of those that break its rule. */
async function catches(t: Test, sound: Cases, broken: Readonly<Record<string, readonly Cases[]>>) {
  const names = sound.map(({ name }) => name)
  t.same(Object.keys(broken).sort(), names.sort(), 'every case has an implementation that it refuses')
  for (const { name, run } of sound) await t.resolves(run(), `passes: ${name}`)
  for (const [name, flaws] of Object.entries(broken)) {
    for (const cases of flaws) {
      const error: unknown = await cases
        .find((one) => one.name === name)
        ?.run()
        .catch((thrown: unknown) => thrown)
      t.ok(error instanceof ConformanceError, `refuses: ${name}`, { found: error })
      if (error instanceof ConformanceError)
        t.ok(error.message.startsWith(`${error.rule}\n  expected: `), 'names its rule')
    }
  }
}

/** A shared store over a server that can be cut off, as plain as it gets. */
class SoundStore implements RateLimitStore {
  traits: RateLimitStore['traits'] = { shared: true, algorithm: 'fixed-window' }
  readonly windows = new Map<string, { endMs: number; used: number }>()
  connected = true
  readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
  }

  async consume(request: RateLimitRequest, context?: StoreContext): Promise<RateLimitDecision> {
    await this.reach(context)
    this.purge()
    return this.decide(request, true)
  }

  async peek(request: RateLimitRequest, context?: StoreContext): Promise<RateLimitDecision> {
    await this.reach(context)
    return this.decide(request, false)
  }

  async reset(key: string): Promise<void> {
    for (const name of this.windows.keys()) if (name.slice(name.indexOf(' ') + 1) === key) this.windows.delete(name)
  }

  nameOf({ key, windowMs }: RateLimitRequest): string {
    return `${windowMs} ${key}`
  }

  check(request: RateLimitRequest): void {
    checkRateLimitRequest(request)
  }

  async reach(context?: StoreContext): Promise<void> {
    await null
    context?.signal.throwIfAborted()
    if (this.connected) return
    await new Promise((_, reject) => context?.signal.addEventListener('abort', () => reject(context.signal.reason)))
  }

  nowMs(): number {
    return this.clock.monotonic()
  }

  purge(): void {
    for (const [key, { endMs }] of this.windows) if (endMs <= this.nowMs()) this.windows.delete(key)
  }

  decide(request: RateLimitRequest, take: boolean): RateLimitDecision {
    this.check(request)
    const { limit, windowMs, cost } = request
    const running = this.windows.get(this.nameOf(request))
    const window = running && running.endMs > this.nowMs() ? running : { endMs: this.nowMs() + windowMs, used: 0 }
    const leftMs = window.endMs - this.nowMs()
    const resetAtMs = this.clock.now() + leftMs
    const remaining = Math.max(0, limit - window.used)
    if (cost > remaining) return { allowed: false, remaining, resetAtMs, retryAfterMs: leftMs }
    if (take) this.windows.set(this.nameOf(request), { ...window, used: window.used + cost })
    return { allowed: true, remaining: remaining - cost, resetAtMs, retryAfterMs: 0 }
  }
}

const storeCases = (change: (store: SoundStore) => unknown = () => {}) =>
  rateLimitStoreCases(
    (clock) => {
      const store = new SoundStore(clock)
      Object.assign(store, change(store))
      return { store, entries: () => store.windows.size }
    },
    {
      disconnect: ({ store }) => {
        store.connected = false
      },
    },
  )

/** A flaw in `consume` alone, put before or after the sound one. */
const consuming = (flaw: (store: SoundStore, request: RateLimitRequest) => Promise<RateLimitDecision>) =>
  storeCases((store) => ({ consume: (request: RateLimitRequest) => flaw(store, request) }))
const asked: RateLimitRequest = { key: 'k', limit: 1, windowMs: 1, cost: 1 }
const sound = (store: SoundStore, request: RateLimitRequest) => SoundStore.prototype.consume.call(store, request)

t.test('the limiter store kit passes a sound store and refuses every broken one', (t) =>
  catches(t, storeCases(), {
    'traits say how it counts': [
      storeCases(() => ({ traits: { shared: true } })),
      rateLimitStoreCases((clock) => ({ store: new SoundStore(clock), entries: () => 0 })),
    ],
    'counts down to the limit and then denies': [
      consuming((store, request) => sound(store, { ...request, limit: request.limit + 1 })),
    ],
    'members of a decision are in range': [
      consuming(async (store, request) => ({ ...(await sound(store, request)), retryAfterMs: 0 })),
      consuming(async (store, request) => {
        const decision = await sound(store, request)
        return { ...decision, retryAfterMs: decision.retryAfterMs / 1000, remaining: decision.allowed ? 1 : -1 }
      }),
    ],
    '100 parallel calls never over-admit': [
      consuming(async (store, request) => {
        const { allowed } = await store.peek(request)
        const decision = await sound(store, request)
        return { ...decision, allowed }
      }),
    ],
    'a denied request takes no quota': [
      consuming(async (store, request) => {
        const decision = await sound(store, request)
        const window = store.windows.get(store.nameOf(request))
        if (!decision.allowed && window) window.used = request.limit
        return decision
      }),
    ],
    'a cost above the limit is denied and changes nothing': [
      consuming((store, request) => sound(store, { ...request, cost: Math.min(request.cost, request.limit) })),
    ],
    'a request that counts nothing whole is refused': [
      storeCases(() => ({ check: () => {} })),
      storeCases(() => ({ check: ({ cost }: RateLimitRequest) => checkRateLimitRequest({ ...asked, cost }) })),
    ],
    'rules of one key with different windows count apart': [
      // The running window counts for every rule.
      storeCases(() => ({ nameOf: ({ key }: RateLimitRequest) => `0 ${key}` })),
      // It is cut to the window that is asked for.
      storeCases((store) => ({
        nameOf: ({ key, windowMs }: RateLimitRequest) => {
          const running = store.windows.get(`0 ${key}`)
          if (running) running.endMs = Math.min(running.endMs, store.nowMs() + windowMs)
          return `0 ${key}`
        },
      })),
    ],
    'keys do not touch each other': [
      consuming((store, request) => sound(store, { ...request, key: request.key.toLowerCase() })),
      consuming((store, request) => sound(store, { ...request, key: request.key.trim() })),
    ],
    'peek takes nothing and answers like consume': [
      storeCases((store) => ({ peek: (request: RateLimitRequest) => sound(store, request) })),
    ],
    'reset forgets one key': [
      storeCases((store) => ({ reset: async () => store.windows.clear() })),
      storeCases(() => ({ reset: async () => {} })),
    ],
    'quota comes back': [consuming((store, request) => sound(store, { ...request, windowMs: 3 * request.windowMs }))],
    'retryAfterMs keeps its word': [
      consuming(async (store, request) => {
        const decision = await sound(store, request)
        return { ...decision, retryAfterMs: Math.min(decision.retryAfterMs, 1) }
      }),
    ],
    'no key outlives its window by more than one purge': [storeCases(() => ({ purge: () => {} }))],
    'a window longer than timers can count is kept': [
      consuming((store, request) => {
        // What a timer of more than 24.8 days does.
        setTimeout(() => store.windows.delete(store.nameOf(request)), 1).unref()
        return sound(store, request)
      }),
    ],
    'an aborted call decides nothing late': [storeCases(() => ({ reach: async () => {} }))],
    'decisions follow the algorithm': [
      consuming((store, request) => {
        const window = store.windows.get(store.nameOf(request))
        if (window && window.endMs > store.nowMs()) window.endMs = store.nowMs() + request.windowMs
        return sound(store, request)
      }),
      storeCases(() => ({ traits: { shared: true, algorithm: 'token-bucket' } })),
      storeCases(() => ({ traits: { shared: true, algorithm: 'sliding-window' } })),
    ],
    'the wall clock going back changes nothing': [storeCases((store) => ({ nowMs: () => store.clock.now() }))],
    'a store that cannot answer throws in time': [
      storeCases((store) => ({ reach: async () => (store.connected ? undefined : store.windows.clear()) })),
      storeCases((store) => ({ reach: () => (store.connected ? Promise.resolve() : new Promise(() => {})) })),
    ],
  }),
)

const secret = 'token-9f2c'

/** A channel to a next hop that can be down or silent. */
class SoundChannel implements NotificationChannel {
  readonly displayName: NotificationChannel['displayName'] = { en: 'Sound', 'zh-CN': '健全' }
  readonly recipientKinds = []
  readonly traits = { idempotent: true }
  nextHop: 'up' | 'down' | 'silent' = 'up'
  readonly received: string[] = []
  readonly known = new Set<string>()

  async send(message: NotificationMessage, { signal, idempotencyKey }: SendContext): Promise<DeliveryOutcome> {
    if (signal.aborted) return { outcome: 'deferred', errorCode: 'aborted', errorMessage: 'Given up before sending' }
    if (this.nextHop === 'down') return { outcome: 'deferred', errorCode: 'unreachable', errorMessage: 'No connection' }
    if (!this.known.has(idempotencyKey)) await this.pass(message, idempotencyKey)
    if (this.nextHop === 'up') return { outcome: 'accepted', messageId: `sent-${message.id}` }
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return { outcome: 'unknown', errorCode: 'timeout', errorMessage: 'No answer' }
  }

  async pass(message: NotificationMessage, idempotencyKey: string): Promise<void> {
    this.known.add(idempotencyKey)
    await null
    this.received.push(message.content)
  }

  async verify(): Promise<void> {
    if (this.nextHop === 'down') throw new Error('No connection')
  }
}

const channelCases = (change: (channel: SoundChannel) => unknown = () => {}) =>
  notificationChannelCases(
    () => {
      const channel = new SoundChannel()
      Object.assign(channel, change(channel))
      return { channel, delivered: () => channel.received }
    },
    {
      attributes: { 'sound.group': 'ops' },
      secrets: [secret],
      disconnect: ({ channel }) => {
        channel.nextHop = 'down'
      },
      hang: ({ channel }) => {
        channel.nextHop = 'silent'
      },
    },
  )
const sending = (flaw: (channel: SoundChannel, message: NotificationMessage, context: SendContext) => unknown) =>
  channelCases((channel) => ({
    send: async (message: NotificationMessage, context: SendContext) => flaw(channel, message, context),
  }))
const soundSend = (channel: SoundChannel, message: NotificationMessage, context: SendContext) =>
  SoundChannel.prototype.send.call(channel, message, context)

t.test('the channel kit passes a sound channel and refuses every broken one', (t) =>
  catches(t, channelCases(), {
    'describes itself': [
      channelCases(() => ({ displayName: { en: 'Sound', 'zh-CN': ' ' } })),
      channelCases(() => ({ recipientKinds: ['pigeon'] })),
      channelCases(() => ({ enabled: () => false })),
    ],
    'hands a message on once': [
      sending(async (channel, message, context) => {
        channel.received.push(message.content)
        return soundSend(channel, message, context)
      }),
      sending(() => ({ outcome: 'accepted' })),
    ],
    'delivers contents unchanged': [
      sending((channel, message, context) =>
        soundSend(channel, { ...message, content: message.content.trim().slice(0, 100) }, context),
      ),
      sending((channel, message, context) =>
        soundSend(channel, { ...message, content: message.content.normalize() }, context),
      ),
    ],
    'parallel messages do not mix': [
      channelCases((channel) => {
        let current = ''
        return {
          pass: async ({ content }: NotificationMessage) => {
            current = content
            await null
            channel.received.push(current)
          },
        }
      }),
    ],
    'an idempotency key is honoured as declared': [
      channelCases((channel) => ({ pass: async ({ content }: NotificationMessage) => channel.received.push(content) })),
      sending((channel, message, context) =>
        soundSend(channel, message, { ...context, idempotencyKey: 'always the same' }),
      ),
    ],
    'leaves the message as it is': [
      sending((channel, message, context) => {
        Object.assign(message.variables, { sentBy: 'sound' })
        return soundSend(channel, message, context)
      }),
    ],
    'an aborted send sends nothing': [
      sending((channel, message, context) =>
        soundSend(channel, message, { ...context, signal: new AbortController().signal }),
      ),
      sending((channel, message, context) => {
        context.signal.throwIfAborted()
        return soundSend(channel, message, context)
      }),
    ],
    'verify sends nothing': [channelCases((channel) => ({ verify: async () => channel.received.push('ping') }))],
    'a next hop that fails is an outcome': [
      sending((channel) => {
        if (channel.nextHop === 'down') throw new Error('connection refused')
      }),
      sending(() => ({ outcome: 'accepted' })),
      sending(() => ({ outcome: 'deferred', errorCode: '', errorMessage: 'No connection' })),
      sending(() => ({ outcome: 'deferred', errorCode: 'unreachable', errorMessage: `https://hook?key=${secret}` })),
    ],
    'verify throws when the next hop fails': [
      channelCases(() => ({ verify: async () => {} })),
      channelCases((channel) => ({
        verify: async () => {
          if (channel.nextHop === 'down') throw new Error(`https://hook?key=${secret}`)
        },
      })),
    ],
    'gives up when the signal aborts': [
      sending((channel, message, context) =>
        soundSend(channel, message, { ...context, signal: new AbortController().signal }),
      ),
      sending(async (channel, message, context) => ({
        ...(await soundSend(channel, message, context)),
        outcome: 'deferred',
      })),
    ],
  }),
)

type Files = Map<string, string>
type Run = (files: Files, signal: AbortSignal, note: (text: string) => void) => void

/** Three files, the last of which says that all is done. */
const soundRun: Run = (files, signal, note) => {
  for (const name of ['settings', 'data', 'done']) {
    signal.throwIfAborted()
    note(`Writing ${name}`)
    files.set(name, `content of ${name}`)
  }
}

const taskCases = (run: Run = soundRun, changes: (files: Files) => Partial<BoundInstallTask> = () => ({})) =>
  installTaskCases(
    () => {
      const files: Files = new Map()
      const task: BoundInstallTask = {
        code: 'sound-files',
        displayName: { en: 'Files', 'zh-CN': '文件' },
        order: 500,
        required: true,
        retryable: true,
        plugin: 'sound',
        isCompleted: async () => files.has('done'),
        run: async (signal, note = () => {}) => run(files, signal, note),
        ...changes(files),
      }
      return { task, snapshot: () => Object.fromEntries(files) }
    },
    { secrets: [secret] },
  )

t.test('the install task kit passes a sound task and refuses every broken one', (t) =>
  catches(t, taskCases(), {
    'describes itself': [
      taskCases(soundRun, () => ({ code: 'Sound Files' })),
      taskCases(soundRun, () => ({ dependencies: ['sound-files'] })),
      taskCases(soundRun, () => ({ displayName: { en: 'Files', 'zh-CN': '' } })),
    ],
    'is completed after a run and not before': [
      taskCases(soundRun, () => ({ isCompleted: async () => true })),
      taskCases(soundRun, () => ({ isCompleted: async () => false })),
    ],
    'isCompleted writes nothing': [
      taskCases(soundRun, (files) => ({
        isCompleted: async () => {
          files.set('checked', 'yes')
          return files.has('done')
        },
      })),
    ],
    'a second run ends in the same state': [
      taskCases((files, signal, note) => {
        soundRun(files, signal, note)
        files.set('log', `${files.get('log') ?? ''}ran;`)
      }),
    ],
    'survives being killed at each note': [
      taskCases((files, signal) => soundRun(files, signal, () => {})),
      taskCases((files, signal, note) => {
        files.set('done', 'content of done')
        soundRun(files, signal, note)
      }),
      taskCases((files, signal, note) => {
        if (files.has('settings') && !files.has('done')) throw new Error('settings exist')
        soundRun(files, signal, note)
      }),
      taskCases((files, signal, note) => {
        files.set('attempts', files.has('data') ? 'more than one' : 'one')
        soundRun(files, signal, note)
        if (files.get('attempts') === 'more than one') files.set('data', 'twice')
      }),
    ],
    'an aborted run does not pretend to be done': [
      taskCases((files, signal, note) => {
        if (!signal.aborted) soundRun(files, signal, note)
      }),
    ],
    'notes hold no secrets': [
      taskCases((files, signal, note) => {
        note(`Connecting with ${secret}`)
        soundRun(files, signal, note)
      }),
    ],
  }),
)
