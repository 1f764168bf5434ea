export * from './anvil.ts'
export * from './contracts.ts'
export * from './fault-proxy.ts'
