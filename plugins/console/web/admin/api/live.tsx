import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { useApi } from './context.tsx'
import { type EventStream, HintSource } from './hint-source.ts'
import { events } from './operations.ts'
import type { PageRefresh } from './page-types.ts'

const ReceivedContext = createContext(false)

/**
 * Poll interval in milliseconds while the server reports changes. Polling is still needed, because the server does not
 * report values that change only with time.
 */
const calmMs = 120_000

/** Returns a function that computes the poll interval of a page in milliseconds, or false if the page is not polled. */
export function usePolling(): (live: PageRefresh | undefined, usualMs: number) => number | false {
  const isReceived = useContext(ReceivedContext)
  return (live, usualMs) => (live === undefined ? false : isReceived && live === 'hinted' ? calmMs : usualMs)
}

interface LiveProps {
  /** True if a user is signed in. */
  readonly isOn: boolean
  readonly children: ReactNode
}

/** Reads changed data again when the server reports a change, but only while this page is visible. */
export function Live({ isOn, children }: LiveProps) {
  const api = useApi()
  const client = useQueryClient()
  const [isReceived, setReceived] = useState(false)
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
      onChange: (received) => {
        setReceived(received)
        // Changes during the disconnection were not reported, so all displayed data is read again.
        if (received) void client.refetchQueries({ type: 'active', stale: true })
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
  return <ReceivedContext value={isReceived}>{children}</ReceivedContext>
}

/**
 * Reads the data of these operations again. A read that is already running may miss the change, so a second read
 * follows it.
 */
async function askAgain(client: QueryClient, operations: readonly string[]): Promise<void> {
  const filter = {
    predicate: ({ queryKey }: { readonly queryKey: readonly unknown[] }) => operations.includes(String(queryKey[0])),
  }
  const wasAsking = client.isFetching(filter) > 0
  await client.invalidateQueries(filter, { cancelRefetch: false })
  if (wasAsking) await client.invalidateQueries(filter, { cancelRefetch: false })
}
