export const sourceName = 'TestTokens.sol'

export const source = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

/// An ERC-20 token that anybody can mint.
contract Token {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    string public name = "Test Dollar";
    string public symbol = "TUSD";
    uint8 public constant decimals = 6;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    function mint(address to, uint256 value) external {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        allowance[from][msg.sender] -= value;
        move(from, to, value);
        return true;
    }

    /// Makes two transfers in one transaction.
    function transferTwice(address a, uint256 va, address b, uint256 vb) external {
        move(msg.sender, a, va);
        move(msg.sender, b, vb);
    }

    function move(address from, address to, uint256 value) private {
        require(balanceOf[from] >= value, "balance");
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}

/// A token whose Transfer event has no indexed argument: it has one topic, and all arguments are in the data.
contract OddToken {
    event Transfer(address from, address to, uint256 value);

    function transfer(address to, uint256 value) external returns (bool) {
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

/// An ERC-721 token. The first topic of its transfers is that of ERC-20, but they have four topics.
contract Collectible {
    event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);

    function give(address to, uint256 tokenId) external {
        emit Transfer(msg.sender, to, tokenId);
    }
}

/// A contract wallet (EIP-1271). A signature of its owner is valid.
contract Wallet1271 {
    address public immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return 0xffffffff;
        address signer = ecrecover(
            digest,
            uint8(signature[64]),
            bytes32(signature[0:32]),
            bytes32(signature[32:64])
        );
        return signer != address(0) && signer == owner ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }
}

/// A broken contract wallet. The mode selects the wrong result that it returns for a signature.
contract OddWallet {
    uint256 public immutable mode;

    constructor(uint256 mode_) {
        mode = mode_;
    }

    fallback() external {
        uint256 how = mode;
        assembly {
            mstore(0, shl(224, 0x1626ba7e))
            mstore(32, 0)
            switch how
            // The correct word, followed by more bytes.
            case 0 { return(0, 64) }
            // Fewer bytes than a word.
            case 1 { return(0, 4) }
            // The correct value, but with a revert.
            case 2 { revert(0, 32) }
            // The correct value, followed by other bits in the same word.
            case 3 { mstore(4, shl(224, 1)) return(0, 32) }
            // The correct value at the wrong end of the word.
            case 4 { mstore(0, 0x1626ba7e) return(0, 32) }
            // No bytes.
            case 5 { return(0, 0) }
            // Never ends.
            case 6 { for {} 1 {} {} }
            // More bytes than a caller reads.
            default { return(0, 200000) }
        }
    }
}
`
