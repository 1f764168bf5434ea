import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { useApi } from './context.tsx'
import { type EventStream, HintSource } from './hint-source.ts'
import { events } from './operations.ts'
import type { Life } from './page-types.ts'

const HeardContext = createContext(false)

/** Where the server says what changes, a page asks by itself now and then only: for what changes with time alone. */
const calmMs = 120_000

/** Milliseconds after which something is asked again by itself. */
export function usePolling(): (live: Life | undefined, usualMs: number) => number | false {
  const isHeard = useContext(HeardContext)
  return (live, usualMs) => (live === undefined ? false : isHeard && live === 'hinted' ? calmMs : usualMs)
}

interface LiveProps {
  /** Whether somebody is signed in. */
  readonly isOn: boolean
  readonly children: ReactNode
}

/** Asks again what the server says has changed, as long as somebody can see this page. */
export function Live({ isOn, children }: LiveProps) {
  const api = useApi()
  const client = useQueryClient()
  const [isHeard, setHeard] = useState(false)
  useEffect(() => {
    if (!isOn) return
    const source = new HintSource({
      open: () => new EventSource(api.addressOf(events, {})) as EventStream,
      later: (work, ms) => {
        const timer = setTimeout(work, ms)
        return () => clearTimeout(timer)
      },
      random: Math.random,
      onHint: (operations) => void askAgain(client, operations),
      onChange: (heard) => {
        setHeard(heard)
        // What changed while nobody listened.
        if (heard) void client.refetchQueries({ type: 'active', stale: true })
      },
      onEnd: () => void client.invalidateQueries({ queryKey: ['account'] }),
    })
    const follow = () => (document.hidden ? source.stop() : source.start())
    follow()
    document.addEventListener('visibilitychange', follow)
    return () => {
      document.removeEventListener('visibilitychange', follow)
      source.stop()
    }
  }, [isOn, api, client])
  return <HeardContext value={isHeard}>{children}</HeardContext>
}

/** What is being asked already may miss the change: its answer is waited for, and then it is asked once more. */
async function askAgain(client: QueryClient, operations: readonly string[]): Promise<void> {
  const filter = {
    predicate: ({ queryKey }: { readonly queryKey: readonly unknown[] }) => operations.includes(String(queryKey[0])),
  }
  const wasAsking = client.isFetching(filter) > 0
  await client.invalidateQueries(filter, { cancelRefetch: false })
  if (wasAsking) await client.invalidateQueries(filter, { cancelRefetch: false })
}
