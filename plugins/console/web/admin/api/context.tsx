import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useState } from 'react'
import { type Api, CallFailure } from './call.ts'

const ApiContext = createContext<Api | undefined>(undefined)

/** Returns the API of the server. */
export function useApi(): Api {
  const api = useContext(ApiContext)
  if (api === undefined) throw new Error('useApi needs an ApiProvider around it')
  return api
}

/**
 * A read is repeated twice if the server is unreachable, but never after a response. A write is not repeated. Without a
 * network, reads and writes fail immediately. If a call waited for the network, it could be sent after its caller has
 * cancelled it.
 */
const newClient = () =>
  new QueryClient({
    defaultOptions: {
      queries: {
        networkMode: 'always',
        retry: (count, error) => count < 2 && error instanceof CallFailure && error.kind === 'away',
        retryDelay: (attempt) => 500 * 2 ** attempt,
        staleTime: 5_000,
        refetchOnWindowFocus: true,
      },
      mutations: { networkMode: 'always', retry: false },
    },
  })

export function ApiProvider({ api, children }: { readonly api: Api; readonly children: ReactNode }) {
  const [client] = useState(newClient)
  return (
    <ApiContext value={api}>
      <QueryClientProvider client={client}>{children}</QueryClientProvider>
    </ApiContext>
  )
}
